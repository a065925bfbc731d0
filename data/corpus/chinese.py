"""The words of lexicon.py in Chinese, for pairs.py.

A noun comes with the word that counts it: 一只猫, a cat. An adjective says of a noun 很老, or 是红的
where something is it or is not (STATES). What some words mean depends on the noun beside them: OF_LIVING,
OF_PLACES and SENSES.
"""


def table(text):
    """Lines "word chinese [counter]" as a dictionary from the word to the rest."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {row[0]: tuple(row[1:]) if len(row) > 2 else row[1] for row in rows}


THINGS = table("""
key 钥匙 把
cabinet 柜子 个
door 门 扇
table 桌子 张
chair 椅子 把
box 盒子 个
lamp 灯 盏
book 书 本
cup 杯子 个
window 窗户 扇
basket 篮子 个
shelf 架子 个
picture 画 幅
clock 钟 个
boat 船 条
wagon 马车 辆
bell 铃铛 个
candle 蜡烛 根
coat 外套 件
shoe 鞋 只
hat 帽子 顶
blanket 毯子 条
bottle 瓶子 个
gate 大门 扇
hammer 锤子 把
ladder 梯子 架
rope 绳子 根
sack 麻袋 个
spoon 勺子 把
stone 石头 块
tree 树 棵
flower 花 朵
apple 苹果 个
leaf 叶子 片
cake 蛋糕 块
coin 硬币 枚
map 地图 张
toy 玩具 个
knife 刀 把
mirror 镜子 面
""")

PERSONS = table("""
boy 男孩 个
girl 女孩 个
woman 女人 个
man 男人 个
teacher 老师 个
farmer 农民 个
baker 面包师 个
doctor 医生 个
king 国王 个
queen 女王 个
child 孩子 个
friend 朋友 个
sister 姐姐 个
brother 哥哥 个
mother 母亲 个
father 父亲 个
nurse 护士 个
driver 司机 个
painter 画家 个
sailor 水手 个
neighbor 邻居 个
singer 歌手 个
thief 小偷 个
soldier 士兵 个
""")

ANIMALS = table("""
chicken 鸡 只
cat 猫 只
dog 狗 只
cow 牛 头
horse 马 匹
pig 猪 头
duck 鸭子 只
goose 鹅 只
fox 狐狸 只
wolf 狼 只
bear 熊 头
lion 狮子 头
mouse 老鼠 只
rabbit 兔子 只
goat 山羊 只
bird 鸟 只
frog 青蛙 只
hen 母鸡 只
donkey 驴 头
monkey 猴子 只
tiger 老虎 只
squirrel 松鼠 只
turtle 乌龟 只
owl 猫头鹰 只
""")

PLACES = table("""
road 马路
river 河
street 街道
bridge 桥
field 田野
lake 湖
stream 小溪
hill 小山
forest 森林
yard 院子
path 小路
valley 山谷
garden 花园
market 市场
""")

# What one sits, lies or stands on or beside, besides things.
SEATS = table("""
mat 垫子
rug 地毯
floor 地板
bed 床
wall 墙
""")

SHOPS = table("""
store 商店
park 公园
school 学校
beach 海滩
station 车站
library 图书馆
garden 花园
party 聚会
farm 农场
market 市场
zoo 动物园
museum 博物馆
""")

GIFTS = table("""
ball 球 个
drink 饮料 杯
book 书 本
ring 戒指 枚
apple 苹果 个
cake 蛋糕 块
flower 花 朵
hat 帽子 顶
letter 信 封
toy 玩具 个
coin 硬币 枚
pen 笔 支
cookie 饼干 块
kite 风筝 只
doll 玩偶 个
card 卡片 张
""")

NAMES = table("""
John 约翰
Tom 汤姆
Ben 本
Sam 山姆
Max 马克斯
Jack 杰克
Peter 彼得
Paul 保罗
Adam 亚当
Oscar 奥斯卡
David 大卫
Henry 亨利
Mary 玛丽
Ann 安妮
Lucy 露西
Emma 艾玛
Sara 萨拉
Kate 凯特
Rose 罗斯
Jane 简
Alice 爱丽丝
Nina 妮娜
Clara 克莱拉
Eva 伊娃
""")

FOODS = table("""
dessert 甜点
cake 蛋糕
soup 汤
bread 面包
rice 米饭
fish 鱼
cheese 奶酪
meat 肉
""")

# What animals and people did; 了 follows.
DEEDS = table("""
clucked 咯咯叫
pecked 啄食
hid 躲藏
ate 吃
scratched 抓挠
slept 睡
purred 打呼噜
jumped 跳
stretched 伸懒腰
barked 吠叫
ran 跑
dug 挖洞
rested 休息
mooed 哞哞叫
stood 站
drank 喝水
galloped 奔跑
grunted 哼哼
rolled 打滚
swam 游泳
quacked 嘎嘎叫
dived 潜水
waddled 摇摆
hissed 嘶嘶叫
flew 飞
hunted 打猎
listened 倾听
howled 嚎叫
growled 咆哮
climbed 爬
roared 怒吼
yawned 打哈欠
squeaked 吱吱叫
nibbled 啃
hopped 蹦跳
sang 唱歌
croaked 呱呱叫
kicked 踢
brayed 嘶鸣
swung 摇晃
laughed 笑
crawled 爬行
hooted 啼叫
smiled 微笑
danced 跳舞
waited 等待
""")

ADJECTIVES = table("""
rusty 生锈
shiny 闪亮
small 小
lost 丢失
wooden 木头
empty 空
open 开着
closed 关着
heavy 重
green 绿
round 圆
large 大
clean 干净
flat 平
broken 坏
soft 软
full 满
square 方
bright 亮
tall 高
hot 热
thick 厚
new 新
dusty 蒙尘
red 红
white 白
light 轻
high 高
pretty 漂亮
loud 响亮
wet 湿
fast 快
slow 慢
warm 暖和
long 长
dirty 脏
brown 棕色
black 黑
blue 蓝
cold 冷
useful 有用
strong 结实
grey 灰
yellow 黄
fresh 新鲜
sweet 甜
ripe 熟
dry 干
sharp 锋利
happy 快乐
hungry 饿
noisy 吵闹
young 年轻
clever 聪明
quiet 安静
cheerful 开朗
kind 善良
busy 忙
proud 骄傲
tired 累
patient 耐心
strict 严格
honest 诚实
friendly 友好
careful 细心
calm 冷静
rich 富有
brave 勇敢
wise 睿智
sleepy 困
loyal 忠诚
funny 有趣
lazy 懒
poor 贫穷
rough 粗鲁
curious 好奇
famous 有名
nervous 紧张
sneaky 狡猾
thirsty 渴
scared 害怕
sick 虚弱
angry 生气
shy 害羞
weak 无力
wide 宽
muddy 泥泞
icy 冰冷
deep 深
crowded 拥挤
narrow 窄
dark 暗
slippery 滑
steep 陡
rocky 崎岖
bare 光秃
dangerous 危险
wild 荒凉
clear 清澈
sad 难过
bored 无聊
lonely 孤独
polite 礼貌
grassy 长草
sandy 多沙
modern 现代
safe 安全
furry 毛茸茸
blind 失明
asleep 睡着
alive 活着
cheap 便宜
smooth 光滑
mossy 长苔
hollow 空心
rotten 腐烂
locked 锁着
packed 装满
old 旧
""")

# A thing is it or is not: 是红的, without 很.
STATES = set(
    "rusty dusty grassy mossy furry lost wooden empty open closed green round broken full square new red white brown black blue grey "
    "yellow modern blind asleep alive hollow locked packed".split()
)

# Where what is said depends on what it is said of: people and animals, or places.
OF_LIVING = {"old": "老", "strong": "强壮"}
OF_PLACES = {"old": "老", "busy": "繁忙", "rough": "汹涌", "thick": "茂密", "bare": "荒芜"}

# Things that tell a sense, and each sense of the word that has two.
CUES = table("""
pond 池塘
river 河
lake 湖
stream 小溪
shore 海岸
water 水
loan 贷款
money 钱
cash 现金
coins 硬币
check 支票
payment 付款
cave 洞穴
wing 翅膀
night 夜晚
owl 猫头鹰
darkness 黑暗
roof 屋顶
game 比赛
ball 球
player 球员
team 球队
pitch 球场
score 比分
forest 森林
branch 树枝
oak 橡树
leaf 叶子
acorn 橡子
root 树根
car 汽车
driver 司机
suitcase 手提箱
engine 引擎
wheel 车轮
trip 旅行
""")
SENSES = {"bank": ("河岸", "银行"), "bat": ("蝙蝠", "球棒"), "trunk": ("树干", "后备箱")}

NUMBERS = table("""
two 两
three 三
four 四
five 五
six 六
""")
TIMES = table("""
tomorrow 明天
today 今天
now 现在
soon 很快
""")
PREPOSITIONS = table("""
on 上
in 里
under 下
behind 后面
beside 旁边
near 附近
""")
