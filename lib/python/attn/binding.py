"""The ctypes view of attn.h and extra.h. Made by lib/python/make_binding.py: do not edit."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_char, c_double, c_float, c_int,
                    c_int32, c_int64, c_size_t, c_ubyte, c_uint, c_uint16, c_uint32, c_uint64, c_void_p)

ATTN_ABI = 1

ATTN_OK = 0
ATTN_NO_MEMORY = 1
ATTN_IO = 2
ATTN_FORMAT = 3
ATTN_UNSUPPORTED = 4
ATTN_INVALID = 5
ATTN_CANCELED = 6
ATTN_STAGE_NONE = 0
ATTN_STAGE_OPTIONS = 1
ATTN_STAGE_MODEL = 2
ATTN_STAGE_INPUT = 3
ATTN_STAGE_OUTPUT = 4
ATTN_STAGE_CHECK = 5
ATTN_REASON_NONE = 0
ATTN_REASON_NO_MEMORY = 1
ATTN_REASON_IO = 2
ATTN_REASON_MALFORMED = 3
ATTN_REASON_UNSUPPORTED = 4
ATTN_REASON_INVALID = 5
ATTN_REASON_CANCELED = 6
ATTN_REASON_NOT_FOUND = 7
ATTN_REASON_NO_ACCESS = 8
ATTN_REASON_NO_SPACE = 9
ATTN_REASON_EXISTS = 10
ATTN_REASON_BAD_JSON = 11
ATTN_REASON_NO_TEXT = 12
ATTN_REASON_BAD_TEXT = 13
ATTN_REASON_BAD_IDS = 14
ATTN_REASON_EMPTY = 15
ATTN_REASON_TOO_LONG = 16
ATTN_REASON_LINE_TOO_LONG = 17
ATTN_REASON_BAD_SOURCE = 18
ATTN_REASON_NO_FIT = 19
ATTN_REASON_BAD_CSV = 20
ATTN_REASON_BAD_VALUE = 21
ATTN_REASON_BAD_IMAGE = 22
ATTN_ERROR_MESSAGE_SIZE = 768
ATTN_ERROR_HINT_SIZE = 512
ATTN_ERROR_FIELDS_SIZE = 96
ATTN_NOTE_UNUSED_TENSORS = 1
ATTN_NOTE_TOKENIZER = 2
ATTN_NOTE_USUAL_PIXELS = 3
ATTN_NOTE_SPACES = 4
ATTN_NOTE_NO_END = 5
ATTN_NOTE_NOT_FINITE = 6
ATTN_NOTE_NO_PATTERN = 7
ATTN_NOTE_PAIRS = 8
ATTN_NOTE_EDIT_MASKED = 9
ATTN_NOTE_EDIT_IDLE = 10
ATTN_NOTE_EDIT_ROWS = 11
ATTN_NOTE_ATTRIBUTION_SUM = 12
ATTN_NOTE_PATCH_RUNS = 13
ATTN_NOTE_PATCH_CHECK = 14
ATTN_NOTE_ITEM_FAILED = 15
ATTN_NOTE_LABELS = 16
ATTN_NOTE_REPEATED_ID = 17
ATTN_NOTE_UNPAIRED = 18
ATTN_NOTE_UNUSED_DEFAULT = 19
ATTN_NOTE_OMITTED_LABEL = 22
ATTN_NOTE_FORMULA = 23
ATTN_NOTE_CONTINUED = 24
ATTN_NOTE_COMPLETE = 25
ATTN_NOTE_PAGE_OMITS = 27
ATTN_NOTE_FIGURE_SIZE = 28
ATTN_NOTE_NO_FONT = 29
ATTN_NOTE_SEVERAL_TOKENS = 30
ATTN_NOTE_CAPTION = 31
ATTN_NOTE_PROMPT = 32
ATTN_NOTE_RESIDUES = 33
ATTN_NOTE_BEAMS = 34
ATTN_NOTE_NO_DIFFERENCE = 35
ATTN_NOTE_BASELINE = 36
ATTN_NOTE_TIME = 37
ATTN_NOTE_RUNS = 38
ATTN_NOTE_MEMORY = 39
ATTN_NOTE_SINK = 40
ATTN_NOTE_SHORT_TEXTS = 42
ATTN_NOTE_SOUND = 43
ATTN_NOTE_CHAT = 44
ATTN_NOTE_MARK = 45
ATTN_NOTE_TWICE = 46
ATTN_NOTE_ASSUMED = 47
ATTN_NOTE_SLOW_BF16 = 48
ATTN_NOTE_TIE = 50
ATTN_NOTE_TENSOR_NAMES = 51
ATTN_NOTE_TRANSPARENT = 52
ATTN_NOTE_PLANE = 53
ATTN_NOTE_UNKNOWN = 54
ATTN_NOTE_NO_SCORE = 55
ATTN_NOTE_HEADS = 56
ATTN_NOTE_FEATURES = 57
ATTN_MAP = 0
ATTN_READ = 1
ATTN_ISA_BASELINE = 0
ATTN_ISA_AVX2 = 1
ATTN_ISA_AVX512 = 2
ATTN_ISA_NEON = 3
ATTN_ISA_RELAXED = 4
ATTN_ISA_BEST = 4
ATTN_GEMM_AUTO = 0
ATTN_GEMM_JIT = 1
ATTN_GEMM_PORTABLE = 2
ATTN_COMPUTE_F32 = 0
ATTN_COMPUTE_BF16 = 1
ATTN_N_COMPUTE = 2
ATTN_VALUE_MISSING = 0
ATTN_VALUE_INTEGER = 1
ATTN_VALUE_REAL = 2
ATTN_VALUE_TEXT = 3
ATTN_VALUE_BOOLEAN = 4
ATTN_VALUE_LIST = 5
ATTN_VALUE_REALS = 6
ATTN_NOTATION_SHORTEST = 0
ATTN_NOTATION_DOUBLE = 1
ATTN_NOTATION_FIXED = 2
ATTN_NOTATION_FIGURES = 3
ATTN_NOTATION_LABEL = 4
ATTN_NOTATION_WHOLE = 5
ATTN_RANGE_SIGNED = 0
ATTN_RANGE_POSITIVE = 1
ATTN_RANGE_SHARE = 2
ATTN_ROLE_VALUE = 0
ATTN_ROLE_LAYER = 1
ATTN_ROLE_HEAD = 2
ATTN_ROLE_KV_HEAD = 3
ATTN_ROLE_NEURON = 4
ATTN_ROLE_POSITION = 5
ATTN_ROLE_QUERY = 6
ATTN_ROLE_KEY = 7
ATTN_ROLE_PLACE = 8
ATTN_ROLE_TOKEN = 9
ATTN_ROLE_ID = 10
ATTN_ROLE_SITE = 11
ATTN_ROLE_PART = 12
ATTN_ROLE_SET = 13
ATTN_ROLE_NUMBER = 14
ATTN_ROLE_OTHER_LAYER = 15
ATTN_ROLE_OTHER_HEAD = 16
ATTN_ROLE_OTHER_NUMBER = 17
ATTN_ROLE_COUNT = 18
ATTN_ROLE_TOTAL = 19
ATTN_ROLE_STACK = 20
ATTN_ROLE_ROW_TYPE = 21
ATTN_ROLE_OTHER_PART = 22
ATTN_ROLE_PICTURE_ROW = 23
ATTN_ROLE_PICTURE_COLUMN = 24
ATTN_ROLE_WRITER = 25
ATTN_ROLE_READER = 26
ATTN_N_COLUMN_ROLE = 27
ATTN_TRAIT_COUNT = 1
ATTN_TRAIT_DERIVED = 2
ATTN_TRAIT_BOUNDED = 4
ATTN_TRAIT_NAME = 8
ATTN_TRAIT_UNFILLED = 16
ATTN_TRAIT_SD = 32
ATTN_TRAIT_SE = 64
ATTN_TRAIT_LOW = 128
ATTN_TRAIT_HIGH = 256
ATTN_TRAIT_LINEAR = 512
ATTN_TRAIT_WEIGHTED = 1024
ATTN_TRAIT_DETAIL = 2048
ATTN_TRAIT_RANKED = 4096
ATTN_TRAIT_SURPRISAL = 8192
ATTN_TRAIT_RESTORED = 16384
ATTN_MIXER_CONV = 1
ATTN_MIXER_DELTA = 2
ATTN_MIXER_MAMBA2 = 3
ATTN_TOWER_TEXT = 0
ATTN_TOWER_IMAGE = 1
ATTN_TOWER_OF_INPUT = 2
ATTN_SPECIAL_PARSE = 0
ATTN_SPECIAL_TEXT = 1
ATTN_SPECIAL_TOKENS_DEFAULT = 0
ATTN_SPECIAL_TOKENS_ON = 1
ATTN_SPECIAL_TOKENS_OFF = 2
ATTN_SPECIAL_TOKENS_BOS = 3
ATTN_TEXT_BEGINS = 0
ATTN_TEXT_CONTINUES = 1
ATTN_INVALID_TEXT_REFUSE = 0
ATTN_INVALID_TEXT_REPLACE = 1
ATTN_INVALID_TEXT_BYTES = 2
ATTN_TEXT_NONE = 0
ATTN_TEXT_FIRST = 1
ATTN_TEXT_SECOND = 2
ATTN_TOKENIZER_WORD = 0
ATTN_TOKENIZER_CHARACTER = 1
ATTN_TOKENIZER_BPE = 2
ATTN_TOKENIZER_WORDPIECE = 3
ATTN_TOKENIZER_UNIGRAM = 4
ATTN_LAYOUT_VECTOR = 0
ATTN_LAYOUT_QUERY = 1
ATTN_LAYOUT_KEY = 2
ATTN_LAYOUT_MATRIX = 3
ATTN_LAYOUT_RANK = 4
ATTN_LAYOUT_PAIRS = 5
ATTN_LAYOUT_HEADS = 6
ATTN_SITE_EMBED = 0
ATTN_SITE_RESID_PRE = 1
ATTN_SITE_Q = 2
ATTN_SITE_K = 3
ATTN_SITE_V = 4
ATTN_SITE_GATE = 85
ATTN_SITE_ROT_Q = 5
ATTN_SITE_ROT_K = 6
ATTN_SITE_C2P = 88
ATTN_SITE_P2C = 89
ATTN_SITE_QK = 7
ATTN_SITE_ATTN_SCORES = 8
ATTN_SITE_PATTERN = 9
ATTN_SITE_PATTERN_DROPPED = 10
ATTN_SITE_PATTERN_LOWRANK = 11
ATTN_SITE_Z = 12
ATTN_SITE_SINK = 62
ATTN_SITE_ATTN_OUT = 13
ATTN_SITE_MIXER_V = 74
ATTN_SITE_MIXER_Q = 75
ATTN_SITE_MIXER_K = 76
ATTN_SITE_MIXER_GATE = 79
ATTN_SITE_DECAY = 80
ATTN_SITE_BETA = 81
ATTN_SITE_MIXING = 82
ATTN_SITE_MIXING_BAND = 83
ATTN_SITE_MIXING_NORM = 84
ATTN_SITE_MIXER_Z = 77
ATTN_SITE_MIXER_OUT = 78
ATTN_SITE_RESID_MID = 14
ATTN_SITE_NORMALIZED_RESID_MID = 47
ATTN_SITE_MLP_PRE = 15
ATTN_SITE_MLP_PRE_LINEAR = 16
ATTN_SITE_MLP_POST = 17
ATTN_SITE_ROUTER_LOGITS = 63
ATTN_SITE_EXPERT_WEIGHTS = 64
ATTN_SITE_EXPERT_INDICES = 65
ATTN_SITE_SHARED_OUT = 66
ATTN_SITE_MLP_OUT = 18
ATTN_SITE_LAYER_INPUT = 91
ATTN_SITE_LAYER_OUT = 92
ATTN_SITE_RESID_POST = 19
ATTN_SITE_NORMALIZED_RESID_POST = 48
ATTN_SITE_CONV_OUT = 90
ATTN_SITE_ROLLOUT = 20
ATTN_SITE_WEIGHTED_PATTERN = 21
ATTN_SITE_VALUE_ZEROING = 22
ATTN_SITE_RECEIVED = 100
ATTN_SITE_PATTERN_X_GRAD = 25
ATTN_SITE_RELEVANCE = 26
ATTN_SITE_RELEVANCE_NORM = 61
ATTN_SITE_PICTURE_MAP = 68
ATTN_SITE_PICTURE_MAP_TILES = 69
ATTN_SITE_DEEPSTACK = 86
ATTN_SITE_IMAGE_FEATURES = 70
ATTN_SITE_PIXEL_VALUES = 71
ATTN_SITE_CONTACTS = 67
ATTN_SITE_LN_FINAL = 23
ATTN_SITE_POOL_Q = 93
ATTN_SITE_POOL_K = 94
ATTN_SITE_POOL_V = 95
ATTN_SITE_POOL_QK = 96
ATTN_SITE_POOL_ATTN_SCORES = 97
ATTN_SITE_POOL_PATTERN = 98
ATTN_SITE_POOL_Z = 99
ATTN_SITE_MLM_HEAD = 49
ATTN_SITE_POOLED = 52
ATTN_SITE_TEXT_EMBED = 50
ATTN_SITE_IMAGE_EMBED = 51
ATTN_SITE_SENTENCE_EMBED = 53
ATTN_SITE_LOGITS = 24
ATTN_SITE_EMBED_GRAD = 27
ATTN_SITE_RESID_PRE_GRAD = 28
ATTN_SITE_Q_GRAD = 29
ATTN_SITE_K_GRAD = 30
ATTN_SITE_V_GRAD = 31
ATTN_SITE_ROT_Q_GRAD = 32
ATTN_SITE_ROT_K_GRAD = 33
ATTN_SITE_QK_GRAD = 34
ATTN_SITE_ATTN_SCORES_GRAD = 35
ATTN_SITE_PATTERN_GRAD = 36
ATTN_SITE_Z_GRAD = 37
ATTN_SITE_ATTN_OUT_GRAD = 38
ATTN_SITE_RESID_MID_GRAD = 39
ATTN_SITE_NORMALIZED_RESID_MID_GRAD = 54
ATTN_SITE_MLP_PRE_GRAD = 40
ATTN_SITE_MLP_PRE_LINEAR_GRAD = 41
ATTN_SITE_MLP_POST_GRAD = 42
ATTN_SITE_MLP_OUT_GRAD = 43
ATTN_SITE_RESID_POST_GRAD = 44
ATTN_SITE_NORMALIZED_RESID_POST_GRAD = 55
ATTN_SITE_DEEPSTACK_GRAD = 87
ATTN_SITE_IMAGE_FEATURES_GRAD = 72
ATTN_SITE_PIXEL_VALUES_GRAD = 73
ATTN_SITE_LN_FINAL_GRAD = 45
ATTN_SITE_MLM_HEAD_GRAD = 56
ATTN_SITE_POOLED_GRAD = 57
ATTN_SITE_TEXT_EMBED_GRAD = 58
ATTN_SITE_IMAGE_EMBED_GRAD = 59
ATTN_SITE_SENTENCE_EMBED_GRAD = 60
ATTN_SITE_LOGITS_GRAD = 46
ATTN_N_SITE = 101
ATTN_NO_LAYER = -1
ATTN_ALL_LAYERS = -2147483648
ATTN_ALL_HEADS = -1
ATTN_STACK_ONLY = 0
ATTN_STACK_ENCODER = 1
ATTN_STACK_DECODER = 2
ATTN_STACK_CROSS = 3
ATTN_STACK_TOWER = 4
ATTN_IMAGE_TILES_ON = 0
ATTN_IMAGE_TILES_OFF = 1
ATTN_ANSWER_AUTO = 0
ATTN_ANSWER_LOGIT_DIFF = 1
ATTN_ANSWER_LOG_PROB = 2
ATTN_ANSWER_LOGIT = 3
ATTN_ANSWER_PROB = 4
ATTN_ANSWER_KL = 5
ATTN_ANSWER_CE = 6
ATTN_N_ANSWER_METRIC = 7
ATTN_ATTENTION_FULL = 0
ATTN_ATTENTION_WINDOW = 1
ATTN_ATTENTION_STRIDED = 2
ATTN_ATTENTION_LOG = 3
ATTN_ATTENTION_RANDOM = 4
ATTN_ATTENTION_BLOCK = 5
ATTN_ATTENTION_HYBRID = 6
ATTN_ATTENTION_SINK = 9
ATTN_ATTENTION_LINEAR = 7
ATTN_ATTENTION_LOWRANK = 8
ATTN_N_ATTENTION_KIND = 10
ATTN_MASK_CAUSAL = 0
ATTN_MASK_NONE = 1
ATTN_MASK_MATRIX = 2
ATTN_MASKING_INF = 0
ATTN_MASKING_RENORMALIZE = 1
ATTN_MASKING_ZERO = 2
ATTN_SIMILARITY_DOT = 0
ATTN_SIMILARITY_COSINE = 1
ATTN_ALGORITHM_AUTO = 0
ATTN_ALGORITHM_DENSE = 1
ATTN_ALGORITHM_BLOCKWISE = 2
ATTN_FEATURE_ELU = 0
ATTN_FEATURE_RELU = 1
ATTN_FEATURE_EXP = 2
ATTN_PART_KIND = 1
ATTN_PART_MASK = 2
ATTN_PART_MASKING = 4
ATTN_PART_SCALE = 8
ATTN_PART_EPS = 16
ATTN_PART_SIMILARITY = 32
ATTN_PART_ALGORITHM = 64
ATTN_PART_DROPOUT = 128
ATTN_PART_DROPOUT_SEED = 256
ATTN_HIDDEN_NONE = 0
ATTN_HIDDEN_FIRST = 1
ATTN_HIDDEN_PARKS = 2
ATTN_EDIT_ZERO = 0
ATTN_EDIT_SCALE = 1
ATTN_EDIT_REPLACE = 2
ATTN_EDIT_ADD = 3
ATTN_EDIT_MASK = 4
ATTN_EDIT_FUNCTION = 5
ATTN_EDIT_MEAN = 6
ATTN_EDIT_UNIFORM = 7
ATTN_EDIT_PROJECT = 8
ATTN_NEUTRAL_DIFFERENCE = 0
ATTN_NEUTRAL_RATIO = 1
ATTN_CACHE_ALL_LAYERS = 0
ATTN_CACHE_ONE_LAYER = 1
ATTN_ORIGIN_DIRECTORY = 0
ATTN_ORIGIN_BUILTIN = 1
ATTN_ORIGIN_SHIPPED = 2
ATTN_ORIGIN_CACHED = 3
ATTN_ORIGIN_FILE = 4
ATTN_ORIGIN_OLLAMA = 5
ATTN_ORIGIN_LM_STUDIO = 6
ATTN_FOUND_PATH_SIZE = 4096
ATTN_FOUND_FETCH_SIZE = 512
ATTN_WEIGHT_ARRAY_NAME_SIZE = 96
ATTN_WEIGHT_ARRAY_MAX_RANK = 3
ATTN_MEDIUM_TABLE = 1
ATTN_MEDIUM_TENSORS = 2
ATTN_MEDIUM_SCREEN = 4
ATTN_MEDIUM_EXPLANATION = 16
ATTN_MEDIUM_PREDICTIONS = 32
ATTN_MEDIUM_CONTINUATION = 64
ATTN_MEDIUM_HEATMAP = 128
ATTN_MEDIUM_DECIMAL = 256
ATTN_MEDIUM_BINARY = 512
ATTN_MEDIUM_PNG = 1024
ATTN_MEDIUM_VECTOR = 2048
ATTN_MEDIUM_FIGURE = 4096
ATTN_MEDIUM_VIEWER = 8192
ATTN_MEDIUM_ROWS = 16384
ATTN_MEDIUM_PAPER = 32768
ATTN_MEDIA_LABELLED = 7168
ATTN_MEDIA_DRAWN = 15360
ATTN_MEDIA_PICTURES = 15488
ATTN_MEDIA_TABLES = 37121
ATTN_MEDIA_ANSWERS = 16480
ATTN_PARAM_FLAG = 0
ATTN_PARAM_COUNT = 1
ATTN_PARAM_SEED = 2
ATTN_PARAM_REAL = 3
ATTN_PARAM_CHOICE = 4
ATTN_PARAM_SWITCH = 5
ATTN_PARAM_METHOD = 6
ATTN_PARAM_SEEDED = 7
ATTN_PARAM_TEXT = 8
ATTN_PARAM_LIST = 9
ATTN_PARAM_ID = 10
ATTN_PARAM_TEXTS = 11
ATTN_PARAM_NAMED = 12
ATTN_PARAM_OWN = 13
ATTN_PARAM_INPUT = 14
ATTN_PARAM_IMAGE = 15
ATTN_PARAM_INPUTS = 16
ATTN_PARAM_ARRAY = 17
ATTN_PARAM_SIZED = 18
ATTN_PARAM_IDS = 19
ATTN_PARAM_PLACES = 20
ATTN_PARAM_MASK = 21
ATTN_PARAM_SETTINGS = 22
ATTN_PARAM_ID_LISTS = 23
ATTN_PARAM_IMAGES = 24
ATTN_PARAM_OF_ARGS = 0
ATTN_PARAM_OF_REQUEST = 1
ATTN_PARAM_OF_CALLER = 2
ATTN_PARAM_SHAPES_GRADIENTS = 1
ATTN_PARAM_NO_OPTION = 4
ATTN_PARAM_NO_KEYWORD = 8
ATTN_PARAM_SHAPES_TENSORS = 16
ATTN_PARAM_IS_OPEN = 32
ATTN_PARAM_IS_CLOSED = 64
ATTN_PARAM_TAKES_HELP = 128
ATTN_PARAM_HAS_ZERO = 512
ATTN_PARAM_NOT_EXPLAINED = 1024
ATTN_PARAM_OF_SCALE = 2048
ATTN_PARAM_OF_NUMBERS = 8192
ATTN_PARAM_MAY_BE_ALONE = 32768
ATTN_SITE_ARCHIVE_NAME_SIZE = 64
ATTN_DTYPE_BOOL = 0
ATTN_DTYPE_F4 = 1
ATTN_DTYPE_F6_E2M3 = 2
ATTN_DTYPE_F6_E3M2 = 3
ATTN_DTYPE_U8 = 4
ATTN_DTYPE_I8 = 5
ATTN_DTYPE_F8_E5M2 = 6
ATTN_DTYPE_F8_E4M3 = 7
ATTN_DTYPE_F8_E8M0 = 8
ATTN_DTYPE_F8_E4M3FNUZ = 9
ATTN_DTYPE_F8_E5M2FNUZ = 10
ATTN_DTYPE_I16 = 11
ATTN_DTYPE_U16 = 12
ATTN_DTYPE_F16 = 13
ATTN_DTYPE_BF16 = 14
ATTN_DTYPE_I32 = 15
ATTN_DTYPE_U32 = 16
ATTN_DTYPE_F32 = 17
ATTN_DTYPE_C64 = 18
ATTN_DTYPE_F64 = 19
ATTN_DTYPE_I64 = 20
ATTN_DTYPE_U64 = 21
ATTN_DTYPE_Q4_0 = 22
ATTN_DTYPE_Q4_1 = 23
ATTN_DTYPE_Q5_0 = 24
ATTN_DTYPE_Q5_1 = 25
ATTN_DTYPE_Q8_0 = 26
ATTN_DTYPE_Q2_K = 27
ATTN_DTYPE_Q3_K = 28
ATTN_DTYPE_Q4_K = 29
ATTN_DTYPE_Q5_K = 30
ATTN_DTYPE_Q6_K = 31
ATTN_DTYPE_IQ4_NL = 32
ATTN_DTYPE_IQ4_XS = 33
ATTN_DTYPE_MXFP4 = 34
ATTN_DTYPE_IQ2_XXS = 35
ATTN_DTYPE_IQ2_XS = 36
ATTN_DTYPE_IQ3_XXS = 37
ATTN_DTYPE_IQ1_S = 38
ATTN_DTYPE_IQ3_S = 39
ATTN_DTYPE_IQ2_S = 40
ATTN_DTYPE_IQ1_M = 41
ATTN_DTYPE_TQ1_0 = 42
ATTN_DTYPE_TQ2_0 = 43
ATTN_DTYPE_NVFP4 = 44
ATTN_N_PLAIN_DTYPE = 22
ATTN_N_DTYPE = 45
ATTN_MAX_RANK = 16
ATTN_TABLE_ALIGNED = 0
ATTN_TABLE_TABBED = 1
ATTN_TABLE_CSV = 2
ATTN_TABLE_JSON = 3
ATTN_TABLE_JSON_LINES = 4
ATTN_TABLE_LATEX = 5
ATTN_TABLE_MARKDOWN = 6
ATTN_DEPTH_NONE = 0
ATTN_DEPTH_256 = 1
ATTN_DEPTH_24_BIT = 2
ATTN_THEME_AUTO = 0
ATTN_THEME_LIGHT = 1
ATTN_THEME_DARK = 2
ATTN_N_COLOR = 256
ATTN_CURVE_LINEAR = 1
ATTN_CURVE_SQRT = 2
ATTN_SPAN_UNIT = 1
ATTN_SPAN_MATRIX = 2
ATTN_SPAN_FIXED = 4
ATTN_FIGURE_OF_RUN = 1
ATTN_FIGURE_OF_TABLE = 2
ATTN_FIGURE_NO_SCALE = 4
ATTN_FIGURE_NO_NUMBERS = 16
ATTN_FIGURE_AS_TEXT = 64
ATTN_FIGURE_NO_PAGE = 128
ATTN_FIGURE_DEFAULT = 0
ATTN_FIGURE_MATRIX = 1
ATTN_FIGURE_GRID = 2
ATTN_FIGURE_TOKENS = 4
ATTN_FIGURE_PATCHES = 6
ATTN_FIGURE_BARS = 7
ATTN_FIGURE_CURVE = 8
ATTN_FIGURE_MAP = 10
ATTN_FIGURE_LIFE = 11
ATTN_FIGURE_ARCS = 12
ATTN_FIGURE_HEADS = 13
ATTN_FIGURE_PAIR = 14
ATTN_FIGURE_CIRCUIT = 16
ATTN_FIGURE_UNDER = 17
ATTN_FIGURE_STRIP = 20
ATTN_FIGURE_ANSWER = 21
ATTN_PATCHES_USUAL = 0
ATTN_PATCHES_TILES = 1
ATTN_PATCHES_WHOLE = 2
ATTN_PATCHES_BOTH = 3
ATTN_FIRST_TABLE_COLUMN = 65536
ATTN_VIEW_PAIRS = 1
ATTN_VIEW_SEQUENCE = 2
ATTN_VIEW_STREAM = 4
ATTN_VIEW_SORTED = 8
ATTN_VIEW_GROUPS = 16
ATTN_VIEW_TOKENS = 32
ATTN_VIEW_PARTS = 64
ATTN_VIEW_SPANS = 128
ATTN_VIEW_SERIES = 256
ATTN_VIEW_DIFFERENCE = 512
ATTN_VIEW_ORDERED = 1024
ATTN_VIEW_WORDS_SIZE = 96
ATTN_VIEW_ANSWER_SIZE = 128
ATTN_VIEW_MEANS_SIZE = 256
ATTN_MEASURE_ENTROPY = 0
ATTN_MEASURE_ENTROPY_NORM = 1
ATTN_MEASURE_MAX = 2
ATTN_MEASURE_DISTANCE = 3
ATTN_MEASURE_SELF = 4
ATTN_MEASURE_PREVIOUS = 5
ATTN_MEASURE_FIRST = 6
ATTN_MEASURE_DUPLICATE = 7
ATTN_MEASURE_INDUCTION = 8
ATTN_MEASURE_FAR = 9
ATTN_MEASURE_N_DUPLICATE = 10
ATTN_MEASURE_N_INDUCTION = 11
ATTN_MEASURE_PUNCTUATION = 12
ATTN_MEASURE_N_PUNCTUATION = 13
ATTN_MEASURE_NEXT = 14
ATTN_MEASURE_SEPARATOR = 15
ATTN_MEASURE_N_SEPARATOR = 16
ATTN_MEASURE_PATCH_DISTANCE = 17
ATTN_MEASURE_LOCALITY = 18
ATTN_MEASURE_CLS = 19
ATTN_MEASURE_REGISTERS = 20
ATTN_MEASURE_SINK = 21
ATTN_MEASURE_MONOTONE = 22
ATTN_MEASURE_DIAGONAL = 23
ATTN_MEASURE_N_FAR = 24
ATTN_MEASURE_DISTANCE_ABS = 25
ATTN_MEASURE_SELF_LATER = 26
ATTN_MEASURE_PICTURE = 27
ATTN_MEASURE_PICTURE_SINKS = 28
ATTN_MEASURE_QUESTION = 29
ATTN_MEASURE_ANSWER = 30
ATTN_MEASURE_OTHER = 31
ATTN_MEASURE_SPATIAL_ENTROPY = 32
ATTN_MEASURE_N_BLOB = 33
ATTN_MEASURE_PICTURE_0 = 34
ATTN_MEASURE_PICTURE_1 = 35
ATTN_MEASURE_PICTURE_2 = 36
ATTN_MEASURE_PICTURE_3 = 37
ATTN_MEASURE_PICTURE_4 = 38
ATTN_MEASURE_PICTURE_5 = 39
ATTN_MEASURE_PICTURE_6 = 40
ATTN_MEASURE_PICTURE_7 = 41
ATTN_MOST_MEASURE = 64
ATTN_RECORD_ID_NUMBER = 0
ATTN_RECORD_ID_TEXT = 1
ATTN_RECORD_ID_INTEGER = 2
ATTN_ITEM_SINGLE = 0
ATTN_ITEM_CLEAN_CORRUPTED = 1
ATTN_ITEM_A_B = 2
ATTN_ITEM_GOOD_BAD = 3
ATTN_N_ITEM_PAIR = 4
ATTN_ITEMS_BY_NAME = 0
ATTN_ITEMS_JSON_LINES = 1
ATTN_ITEMS_CSV = 2
ATTN_ITEMS_TSV = 3
ATTN_ITEMS_LINES = 4
ATTN_ITEMS_FASTA = 5
ATTN_ITEMS_WORDS = 6
ATTN_MAX_LINE = 16777216
ATTN_EACH_BY_NAME = 0
ATTN_EACH_CSV = 1
ATTN_EACH_JSON_LINES = 2
ATTN_EACH_TEXTS = 3
ATTN_EACH_MATRICES = 4
ATTN_EACH_RECORDS = 5
ATTN_EACH_DOCUMENT = 6
ATTN_ABLATE_BY_HEAD = 0
ATTN_ABLATE_BY_ATTN = 1
ATTN_ABLATE_BY_MLP = 2
ATTN_ABLATE_BY_LAYER = 3
ATTN_ABLATE_BY_NEURON = 4
ATTN_ABLATE_PICTURE = 0
ATTN_ABLATE_TILE = 1
ATTN_ABLATE_CELL = 2
ATTN_REPLACEMENT_ZERO = 0
ATTN_REPLACEMENT_MEAN = 1
ATTN_REPLACEMENT_RESAMPLE = 2
ATTN_REPLACEMENT_UNIFORM = 3
ATTN_ATTRIBUTE_DLA = 0
ATTN_ATTRIBUTE_SALIENCY = 1
ATTN_ATTRIBUTE_GRAD_X_INPUT = 2
ATTN_ATTRIBUTE_IG = 3
ATTN_ATTRIBUTE_ATTNLRP = 4
ATTN_ATTRIBUTE_RELEVANCE = 5
ATTN_ATTRIBUTE_ATTN_X_GRAD = 6
ATTN_ATTRIBUTE_CAUSES = 7
ATTN_ATTRIBUTE_RELEVANCE_NORM = 8
ATTN_ATTRIBUTE_RELP = 9
ATTN_N_ATTRIBUTE_METHOD = 10
ATTN_ATTRIBUTE_BY_PART = 0
ATTN_ATTRIBUTE_BY_TOKEN = 1
ATTN_ATTRIBUTE_BY_PAIR = 2
ATTN_ATTRIBUTE_BY_QUERY = 3
ATTN_ATTRIBUTE_BY_KEY = 4
ATTN_ATTRIBUTE_BY_CELL = 5
ATTN_ATTRIBUTE_BY_PIXEL = 6
ATTN_N_ATTRIBUTE_BY = 7
ATTN_BASELINE_MEAN = 0
ATTN_BASELINE_ZERO = 1
ATTN_BASELINE_GIVEN = 2
ATTN_BASELINE_AUTO = 3
ATTN_BASELINE_MASK = 4
ATTN_BASELINE_PAD = 5
ATTN_BASELINE_GREY = 6
ATTN_N_BASELINE = 7
ATTN_SIDES_LOGITS = 0
ATTN_SIDES_MEAN = 1
ATTN_SIDES_NONE = 2
ATTN_GENERATION_LENGTH = 0
ATTN_GENERATION_CONTEXT = 1
ATTN_GENERATION_TEXT_END = 2
ATTN_GENERATION_STOP = 3
ATTN_CIRCUIT_EAP_IG = 0
ATTN_CIRCUIT_EAP = 1
ATTN_CIRCUIT_EAP_IG_RIEMANN = 2
ATTN_N_CIRCUIT_METHOD = 3
ATTN_ANSWER_SIDES = 1
ATTN_ANSWER_MISSING = 2
ATTN_EXAMPLES_MAX = 0
ATTN_EXAMPLES_MEAN = 1
ATTN_LENS_ENTROPY = 1
ATTN_LENS_KL = 2
ATTN_PATCH_EXACT = 0
ATTN_PATCH_ATP = 1
ATTN_PATCH_RELP = 2
ATTN_PATCH_IG = 3
ATTN_N_PATCH_METHOD = 4
ATTN_PATCH_DIRECTION_AUTO = 0
ATTN_PATCH_DIRECTION_NOISE = 1
ATTN_PATCH_DIRECTION_RESTORE = 2
ATTN_SCORE_BY_TEXT = 0
ATTN_SCORE_BY_TOKEN = 1
ATTN_SCORE_BY_WORD = 2
ATTN_WORD_SURPRISAL = 1
ATTN_WORD_SPACE = 2
ATTN_WORD_ENTROPY = 4
ATTN_WORD_LENS = 8
ATTN_WORD_ATTENTION = 16
ATTN_SINKS_BY_HEAD = 0
ATTN_SINKS_BY_TOKEN = 1
ATTN_SINKS_BY_LAYER = 2
ATTN_SINKS_BY_PARK = 3
ATTN_SINKS_BY_KEY = 4
ATTN_SPANS_BY_HEAD = 0
ATTN_SPANS_BY_SPAN = 1
ATTN_SPANS_BY_STEP = 2
ATTN_SPANS_HIDE_PARKS = 0
ATTN_SPANS_HIDE_NONE = 1
ATTN_HEADS_DIRECT = 1
ATTN_HEADS_ABLATED = 2
ATTN_HEADS_PATCHED = 4
ATTN_HEADS_WEIGHT = 8
ATTN_HEADS_OF_ANSWER = 7
ATTN_HEADS_COMPOSITION_NONE = 0
ATTN_HEADS_COMPOSITION_Q = 1
ATTN_HEADS_COMPOSITION_K = 2
ATTN_HEADS_COMPOSITION_V = 3
ATTN_HEADS_BY_HEAD = 0
ATTN_HEADS_BY_LAYER = 1
ATTN_HEADS_BY_PAIR = 2
ATTN_PARAM_GIVEN = 0
ATTN_PARAM_VALUES = 1
ATTN_PARAM_BOTH = 2


class attn_error(Structure):
    pass


class attn_counted_note(Structure):
    pass


class attn_blob(Structure):
    pass


class attn_override(Structure):
    pass


class attn_source(Structure):
    pass


class attn_column(Structure):
    pass


class attn_cell(Structure):
    pass


class attn_site_set(Structure):
    pass


class attn_picture_dims(Structure):
    pass


class attn_images_dims(Structure):
    pass


class attn_mixer_dims(Structure):
    pass


class attn_layer_dims(Structure):
    pass


class attn_dims(Structure):
    pass


class attn_model_options(Structure):
    pass


class attn_encode_options(Structure):
    pass


class attn_encoding(Structure):
    pass


class attn_host_options(Structure):
    pass


class attn_location(Structure):
    pass


class attn_number_list(Structure):
    pass


class attn_head_list(Structure):
    pass


class attn_input(Structure):
    pass


class attn_label_list(Structure):
    pass


class attn_word_texts(Structure):
    pass


class attn_item_place(Structure):
    pass


class attn_places(Structure):
    pass


class attn_chat_request(Structure):
    pass


class attn_request_reading(Structure):
    pass


class attn_answer_args(Structure):
    pass


class attn_label_ids(Structure):
    pass


class attn_request_labels(Structure):
    pass


class attn_request_predict(Structure):
    pass


class attn_mask_matrix(Structure):
    pass


class attn_mask_block(Structure):
    pass


class attn_mask_blocks(Structure):
    pass


class attn_attention(Structure):
    pass


class attn_attention_change(Structure):
    pass


class attn_trace_event(Structure):
    pass


class attn_trace(Structure):
    pass


class attn_option(Structure):
    pass


class attn_array_axes(Structure):
    pass


class attn_backdrop(Structure):
    pass


class attn_labels(Structure):
    pass


class attn_candidate(Structure):
    pass


class attn_next(Structure):
    pass


class attn_predicted_metric(Structure):
    pass


class attn_predictions(Structure):
    pass


class attn_edit(Structure):
    pass


class attn_edit_target(Structure):
    pass


class attn_request_edits(Structure):
    pass


class attn_request_attention(Structure):
    pass


class attn_request_selection(Structure):
    pass


class attn_request_outputs(Structure):
    pass


class attn_request_maps(Structure):
    pass


class attn_request(Structure):
    pass


class attn_result(Structure):
    pass


class attn_position_numbers(Structure):
    pass


class attn_session_options(Structure):
    pass


class attn_catalog(Structure):
    pass


class attn_catalog_found(Structure):
    pass


class attn_weight_array(Structure):
    pass


class attn_param(Structure):
    pass


class attn_param_list(Structure):
    pass


class attn_param_part(Structure):
    pass


class attn_selection_walk(Structure):
    pass


class attn_tensor(Structure):
    pass


class attn_ndarray(Structure):
    pass


class attn_mask_array(Structure):
    pass


class attn_intervention(Structure):
    pass


class attn_edit_texts(Structure):
    pass


class attn_pixels(Structure):
    pass


class attn_table_order(Structure):
    pass


class attn_table_style(Structure):
    pass


class attn_rgb(Structure):
    pass


class attn_color_scale(Structure):
    pass


class attn_figure_text(Structure):
    pass


class attn_picture_options(Structure):
    pass


class attn_output(Structure):
    pass


class attn_table_view(Structure):
    pass


class attn_table_picture(Structure):
    pass


class attn_live_extra(Structure):
    pass


class attn_live(Structure):
    pass


class attn_live_args(Structure):
    pass


class attn_item_label(Structure):
    pass


class attn_item(Structure):
    pass


class attn_result_heads(Structure):
    pass


class attn_result_answer(Structure):
    pass


class attn_item_result(Structure):
    pass


class attn_many_options(Structure):
    pass


class attn_item_calls(Structure):
    pass


class attn_items_options(Structure):
    pass


class attn_records_item(Structure):
    pass


class attn_each_result(Structure):
    pass


class attn_each_options(Structure):
    pass


class attn_study_sum(Structure):
    pass


class attn_study_args(Structure):
    pass


class attn_items_args(Structure):
    pass


class attn_ablate_set(Structure):
    pass


class attn_ablate_args(Structure):
    pass


class attn_ablate_sum(Structure):
    pass


class attn_align_args(Structure):
    pass


class attn_score_cells(Structure):
    pass


class attn_attribute_args(Structure):
    pass


class attn_generate_args(Structure):
    pass


class attn_generation(Structure):
    pass


class attn_circuit_args(Structure):
    pass


class attn_collect_args(Structure):
    pass


class attn_diff_args(Structure):
    pass


class attn_diff_sum(Structure):
    pass


class attn_examples_args(Structure):
    pass


class attn_lens_args(Structure):
    pass


class attn_patch_args(Structure):
    pass


class attn_estimate_check(Structure):
    pass


class attn_patch_sum(Structure):
    pass


class attn_score_args(Structure):
    pass


class attn_score_sum(Structure):
    pass


class attn_sinks_args(Structure):
    pass


class attn_spans_args(Structure):
    pass


class attn_heads_probe(Structure):
    pass


class attn_heads_picture(Structure):
    pass


class attn_heads_weights(Structure):
    pass


class attn_heads_args(Structure):
    pass


class attn_attention_args(Structure):
    pass


class attn_param_rule(Structure):
    pass


class attn_param_rules(Structure):
    pass


class attn_question(Structure):
    pass


class attn_question_call(Structure):
    pass


class attn_explain_args(Structure):
    pass


class attn_explained_key(Structure):
    pass


class attn_explained_rotation(Structure):
    pass


class attn_explanation(Structure):
    pass


attn_progress_fn = CFUNCTYPE(None, c_void_p, c_size_t, c_size_t)
attn_note_fn = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
attn_counted_note_fn = CFUNCTYPE(None, c_void_p, POINTER(attn_counted_note))
attn_trace_fn = CFUNCTYPE(c_int, c_void_p, POINTER(attn_trace_event), POINTER(attn_error))
attn_edit_fn = CFUNCTYPE(c_int, c_void_p, POINTER(attn_trace_event), POINTER(c_float), POINTER(attn_error))
attn_catalog_fn = CFUNCTYPE(c_int, c_void_p, c_char_p, POINTER(attn_error))
attn_task_fn = CFUNCTYPE(None, c_void_p, c_size_t, c_int)
attn_name_fields_fn = CFUNCTYPE(None, c_char_p, c_void_p, c_size_t)
attn_next_fn = CFUNCTYPE(c_int, c_void_p, POINTER(POINTER(attn_item)), POINTER(attn_error))
attn_answer_fn = CFUNCTYPE(c_int, c_void_p, POINTER(attn_item_result), POINTER(attn_error))
attn_done_fn = CFUNCTYPE(c_int, c_void_p, POINTER(attn_item_result), POINTER(attn_error))
attn_token_fn = CFUNCTYPE(c_int, c_void_p, c_int32, c_void_p, c_size_t, POINTER(attn_error))
attn_param_given_fn = CFUNCTYPE(c_bool, c_void_p, c_char_p)

attn_error._fields_ = [
    ("status", c_int),
    ("stage", c_int),
    ("reason", c_int),
    ("message", c_char * 768),
    ("hint", c_char * 512),
    ("fields", c_char * 96),
    ("later", c_void_p * 4),
]
attn_counted_note._fields_ = [
    ("code", c_int),
    ("subject", c_char_p),
    ("reason", c_char_p),
    ("n", c_size_t),
    ("n_run", c_size_t),
    ("later", c_void_p * 2),
]
attn_blob._fields_ = [
    ("name", c_char_p),
    ("data", c_void_p),
    ("size", c_size_t),
]
attn_override._fields_ = [
    ("name", c_char_p),
    ("path", c_char_p),
]
attn_source._fields_ = [
    ("directory", c_char_p),
    ("name", c_char_p),
    ("blobs", POINTER(attn_blob)),
    ("n_blob", c_size_t),
    ("overrides", POINTER(attn_override)),
    ("n_override", c_size_t),
    ("fetch", c_char_p),
    ("later", c_void_p * 4),
]
attn_column._fields_ = [
    ("name", c_char_p),
    ("type", c_int),
    ("unit", c_char_p),
    ("notation", c_int),
    ("digits", c_int),
    ("width", c_size_t),
    ("range", c_int),
    ("quantity", c_char_p),
    ("totals", c_char_p),
    ("role", c_int),
    ("traits", c_uint),
    ("shown", c_uint64),
    ("help", c_char_p),
    ("since", c_uint),
    ("later", c_void_p * 5),
]
attn_cell._fields_ = [
    ("type", c_int),
    ("size", c_size_t),
    ("integer", c_int64),
    ("real", c_double),
    ("text", c_char_p),
    ("list", POINTER(c_int64)),
    ("reals", POINTER(c_double)),
    ("later", c_void_p * 1),
]
attn_site_set._fields_ = [
    ("words", c_uint64 * 4),
]
attn_picture_dims._fields_ = [
    ("n", c_uint32),
    ("n_row", c_uint32),
    ("n_col", c_uint32),
    ("grid_rows", c_uint32),
    ("grid_cols", c_uint32),
    ("height", c_uint32),
    ("width", c_uint32),
    ("n_chosen", c_uint32),
    ("later", c_void_p * 2),
]
attn_images_dims._fields_ = [
    ("items", POINTER(attn_picture_dims)),
    ("n", c_size_t),
    ("n_row", c_size_t),
    ("later", c_void_p * 2),
]
attn_mixer_dims._fields_ = [
    ("kind", c_int),
    ("n_head", c_size_t),
    ("n_key_head", c_size_t),
    ("d_key", c_size_t),
    ("d_value", c_size_t),
    ("n_tap", c_size_t),
    ("is_in", POINTER(c_bool)),
    ("later", c_void_p * 2),
]
attn_layer_dims._fields_ = [
    ("n_kv_head", c_size_t),
    ("d_head", c_size_t),
    ("d_mlp", c_size_t),
    ("kv_layer", c_size_t),
    ("d_input", c_size_t),
    ("later", c_void_p * 2),
]
attn_dims._fields_ = [
    ("n_layer", c_size_t),
    ("n_head", c_size_t),
    ("n_kv_head", c_size_t),
    ("d_model", c_size_t),
    ("d_head", c_size_t),
    ("d_value", c_size_t),
    ("d_mlp", c_size_t),
    ("n_vocab", c_size_t),
    ("d_out", c_size_t),
    ("d_embed", c_size_t),
    ("d_projected", c_size_t),
    ("n_position", c_size_t),
    ("n_rank", c_size_t),
    ("n_source", c_size_t),
    ("n_front", c_size_t),
    ("is_pooled", c_bool),
    ("has_pairs", c_bool),
    ("is_of_decoder", c_bool),
    ("pools_heads", c_bool),
    ("gates_heads", c_bool),
    ("is_cross", POINTER(c_bool)),
    ("sites", attn_site_set),
    ("d_pooled", c_size_t),
    ("lacking", POINTER(attn_site_set)),
    ("n_expert", c_size_t),
    ("n_expert_used", c_size_t),
    ("encoder", POINTER(attn_dims)),
    ("picture", attn_picture_dims),
    ("mixer", POINTER(attn_mixer_dims)),
    ("layers", POINTER(attn_layer_dims)),
    ("images", POINTER(attn_images_dims)),
    ("later", c_void_p * 4),
]
attn_model_options._fields_ = [
    ("size", c_size_t),
    ("load", c_int),
    ("reuse", c_bool),
    ("compute", c_int),
    ("pool", c_void_p),
    ("on_note", attn_note_fn),
    ("user", c_void_p),
    ("tower", c_int),
    ("isa", c_int),
]
attn_encode_options._fields_ = [
    ("size", c_size_t),
    ("special", c_int),
    ("invalid", c_int),
    ("special_tokens", c_int),
    ("place", c_int),
    ("cancel", POINTER(c_int)),
    ("pair", c_char_p),
    ("n_pair", c_size_t),
    ("plain_begin", c_size_t),
    ("plain_end", c_size_t),
]
attn_encoding._fields_ = [
    ("ids", POINTER(c_int32)),
    ("begin", POINTER(c_size_t)),
    ("end", POINTER(c_size_t)),
    ("n", c_size_t),
    ("n_front", c_size_t),
    ("n_back", c_size_t),
    ("capacity", c_size_t),
    ("types", POINTER(c_ubyte)),
    ("texts", POINTER(c_ubyte)),
    ("later", c_void_p * 4),
]
attn_host_options._fields_ = [
    ("size", c_size_t),
    ("load", c_int),
    ("compute", c_int),
    ("reuse", c_bool),
    ("n_thread", c_int),
    ("gemm", c_int),
    ("isa", c_int),
    ("cancel", POINTER(c_int)),
    ("on_note", attn_note_fn),
    ("user", c_void_p),
    ("catalog", POINTER(attn_catalog)),
    ("tower", c_int),
]
attn_location._fields_ = [
    ("stack", c_int),
    ("layer", c_int),
    ("head", c_int),
    ("site", c_int),
]
attn_number_list._fields_ = [
    ("text", c_char_p),
    ("items", POINTER(c_int64)),
    ("n", c_size_t),
]
attn_head_list._fields_ = [
    ("text", c_char_p),
    ("items", POINTER(attn_location)),
    ("n", c_size_t),
]
attn_input._fields_ = [
    ("text", c_char_p),
    ("n_text", c_size_t),
    ("ids", POINTER(c_int32)),
    ("n_id", c_size_t),
    ("embeddings", POINTER(attn_ndarray)),
    ("q", POINTER(attn_ndarray)),
    ("k", POINTER(attn_ndarray)),
    ("v", POINTER(attn_ndarray)),
    ("scores", POINTER(attn_ndarray)),
    ("types", POINTER(c_int32)),
    ("n_type", c_size_t),
    ("pair", c_char_p),
    ("n_pair", c_size_t),
    ("key_mask", POINTER(c_int32)),
    ("n_key_mask", c_size_t),
    ("image", c_char_p),
    ("pixels", POINTER(attn_pixels)),
    ("continuation", c_char_p),
    ("n_continuation", c_size_t),
    ("continuation_ids", POINTER(c_int32)),
    ("n_continuation_id", c_size_t),
    ("images", POINTER(c_char_p)),
    ("n_image", c_size_t),
    ("later", c_void_p * 4),
]
attn_label_list._fields_ = [
    ("items", POINTER(c_char_p)),
    ("sizes", POINTER(c_size_t)),
    ("n", c_size_t),
    ("name", c_char_p),
]
attn_word_texts._fields_ = [
    ("text", c_char_p),
    ("n", c_size_t),
]
attn_item_place._fields_ = [
    ("name", c_char_p),
    ("spec", attn_number_list),
]
attn_places._fields_ = [
    ("items", POINTER(attn_item_place)),
    ("n", c_size_t),
    ("others", POINTER(attn_places)),
    ("later", c_void_p * 4),
]
attn_chat_request._fields_ = [
    ("form", c_char_p),
    ("system", c_char_p),
    ("messages", c_char_p),
    ("now", c_int64),
    ("tools", c_char_p),
    ("sets", POINTER(c_char_p)),
    ("n_set", c_size_t),
    ("later", c_void_p * 4),
]
attn_request_reading._fields_ = [
    ("special", c_int),
    ("special_tokens", c_int),
    ("example", c_char_p),
    ("query_labels", attn_label_list),
    ("key_labels", attn_label_list),
    ("places", POINTER(attn_places)),
    ("prompt_name", c_char_p),
    ("image_tiles", c_int),
    ("later", c_void_p * 4),
]
attn_answer_args._fields_ = [
    ("metric", c_int),
    ("target", c_char_p),
    ("foil", c_char_p),
    ("target_id", POINTER(c_int32)),
    ("foil_id", POINTER(c_int32)),
    ("at", attn_number_list),
    ("later", c_void_p * 4),
]
attn_label_ids._fields_ = [
    ("ids", POINTER(c_int32)),
    ("n", c_size_t),
    ("name", c_char_p),
    ("later", c_void_p * 4),
]
attn_request_labels._fields_ = [
    ("ids", POINTER(attn_label_ids)),
    ("n_ids", c_size_t),
    ("images", POINTER(c_char_p)),
    ("n_image", c_size_t),
    ("later", c_void_p * 4),
]
attn_request_predict._fields_ = [
    ("top", c_size_t),
    ("next", POINTER(c_char_p)),
    ("n_next", c_size_t),
    ("answer", POINTER(attn_answer_args)),
    ("labels", POINTER(c_char_p)),
    ("n_label", c_size_t),
    ("more", POINTER(attn_request_labels)),
    ("next_ids", POINTER(attn_label_ids)),
    ("n_next_ids", c_size_t),
    ("later", c_void_p * 2),
]
attn_mask_matrix._fields_ = [
    ("cells", POINTER(c_ubyte)),
    ("n_head", c_size_t),
    ("n_query", c_size_t),
    ("n_key", c_size_t),
]
attn_mask_block._fields_ = [
    ("first", c_size_t),
    ("end", c_size_t),
    ("ignores_window", c_bool),
]
attn_mask_blocks._fields_ = [
    ("items", POINTER(attn_mask_block)),
    ("n", c_size_t),
]
attn_attention._fields_ = [
    ("kind", c_int),
    ("window", c_size_t),
    ("stride", c_size_t),
    ("count", c_size_t),
    ("seed", c_uint64),
    ("feature", c_int),
    ("is_raw", c_bool),
    ("mask", c_int),
    ("matrix", attn_mask_matrix),
    ("masking", c_int),
    ("similarity", c_int),
    ("algorithm", c_int),
    ("is_scaled", c_bool),
    ("eps", c_double),
    ("factor", c_double),
    ("score_cap", c_double),
    ("dropout", c_double),
    ("dropout_seed", c_uint64),
    ("dropout_mask", attn_mask_matrix),
    ("bias", c_void_p),
    ("sinks", POINTER(c_float)),
    ("first_head", c_size_t),
    ("block", attn_mask_block),
    ("blocks", POINTER(attn_mask_blocks)),
    ("later", c_void_p * 8),
]
attn_attention_change._fields_ = [
    ("parts", c_uint),
    ("to", attn_attention),
    ("mask", POINTER(attn_mask_array)),
    ("keep", POINTER(attn_mask_array)),
    ("later", c_void_p * 4),
]
attn_trace_event._fields_ = [
    ("sequence", c_size_t),
    ("at", attn_location),
    ("row0", c_size_t),
    ("n_row", c_size_t),
    ("n_col", c_size_t),
    ("ld", c_size_t),
    ("data", POINTER(c_float)),
    ("is_causal", c_bool),
    ("ahead", c_size_t),
    ("keys", POINTER(c_int32)),
    ("n_kept", POINTER(c_size_t)),
    ("later", c_void_p * 4),
]
attn_trace._fields_ = [
    ("selection", c_void_p),
    ("on_event", attn_trace_fn),
    ("user", c_void_p),
    ("later", c_void_p * 4),
]
attn_option._fields_ = [
    ("name", c_char_p),
    ("value", c_char_p),
]
attn_array_axes._fields_ = [
    ("rank", c_int),
    ("n_batch", c_size_t),
]
attn_backdrop._fields_ = [
    ("rgb", POINTER(c_ubyte)),
    ("height", c_size_t),
    ("width", c_size_t),
    ("stride", c_size_t),
    ("n_front", c_size_t),
    ("n_row", c_size_t),
    ("n_col", c_size_t),
    ("is_in_text", c_bool),
    ("usual", c_size_t),
    ("n_usual", c_size_t),
    ("neutral", c_char_p),
    ("is_ratio", c_bool),
    ("later", c_void_p * 4),
]
attn_labels._fields_ = [
    ("selection", c_void_p),
    ("model", c_char_p),
    ("axes", POINTER(attn_array_axes)),
    ("ids", POINTER(c_int32)),
    ("tokens", POINTER(c_char_p)),
    ("token_sizes", POINTER(c_size_t)),
    ("source_ids", POINTER(c_int32)),
    ("source_tokens", POINTER(c_char_p)),
    ("source_token_sizes", POINTER(c_size_t)),
    ("words", POINTER(c_size_t)),
    ("source_words", POINTER(c_size_t)),
    ("piece", c_char_p),
    ("begin", POINTER(c_size_t)),
    ("end", POINTER(c_size_t)),
    ("options", POINTER(attn_option)),
    ("n_option", c_size_t),
    ("mask", POINTER(c_size_t)),
    ("n_front", c_size_t),
    ("n_back", c_size_t),
    ("types", POINTER(c_int32)),
    ("backdrop", POINTER(attn_backdrop)),
    ("texts", POINTER(c_ubyte)),
    ("text", c_char_p),
    ("pair", c_char_p),
    ("n_text", c_size_t),
    ("n_pair", c_size_t),
    ("has_residues", c_bool),
    ("region", POINTER(c_ubyte)),
    ("seen", POINTER(attn_backdrop)),
    ("pixels", POINTER(attn_pixels)),
    ("maps", POINTER(c_void_p)),
    ("parks", POINTER(c_bool)),
    ("later", c_void_p * 8),
]
attn_candidate._fields_ = [
    ("position", c_size_t),
    ("id", c_int32),
    ("token", c_char_p),
    ("token_size", c_size_t),
    ("prob", c_double),
    ("score", c_double),
    ("later", c_void_p * 4),
]
attn_next._fields_ = [
    ("position", c_size_t),
    ("text", c_char_p),
    ("log_prob", c_double),
    ("later", c_void_p * 4),
]
attn_predicted_metric._fields_ = [
    ("position", c_size_t),
    ("name", c_char_p),
    ("value", c_double),
    ("later", c_void_p * 4),
]
attn_predictions._fields_ = [
    ("top", POINTER(attn_candidate)),
    ("n_top", c_size_t),
    ("has_labels", c_bool),
    ("is_in_place", c_bool),
    ("has_positions", c_bool),
    ("are_values", c_bool),
    ("are_spans", c_bool),
    ("are_of_whole", c_bool),
    ("next", POINTER(attn_next)),
    ("n_next", c_size_t),
    ("metric", POINTER(attn_predicted_metric)),
    ("n_metric", c_size_t),
    ("bytes", c_char_p),
    ("later", c_void_p * 4),
]
attn_edit._fields_ = [
    ("at", attn_location),
    ("row0", c_size_t),
    ("row1", c_size_t),
    ("col0", c_size_t),
    ("col1", c_size_t),
    ("op", c_int),
    ("factor", c_float),
    ("data", POINTER(c_float)),
    ("ld", c_size_t),
    ("function", attn_edit_fn),
    ("user", c_void_p),
    ("offset", c_float),
    ("later", c_void_p * 4),
]
attn_edit_target._fields_ = [
    ("at", attn_location),
    ("row0", c_size_t),
    ("n_row", c_size_t),
    ("n_col", c_size_t),
    ("ld", c_size_t),
    ("data", POINTER(c_float)),
    ("n_uncounted", c_size_t),
    ("later", c_void_p * 2),
]
attn_request_edits._fields_ = [
    ("items", POINTER(attn_edit)),
    ("interventions", POINTER(attn_intervention)),
    ("n", c_size_t),
    ("n_intervention", c_size_t),
    ("later", c_void_p * 5),
]
attn_request_attention._fields_ = [
    ("layers", POINTER(attn_attention)),
    ("change", POINTER(attn_attention_change)),
    ("later", c_void_p * 4),
]
attn_request_selection._fields_ = [
    ("given", c_void_p),
    ("sites", c_char_p),
    ("layers", c_char_p),
    ("heads", c_char_p),
    ("queries", attn_number_list),
    ("gradients_of", POINTER(attn_answer_args)),
    ("has_gradients", c_bool),
    ("at_mask", c_bool),
    ("tiles", attn_number_list),
    ("later", c_void_p * 4),
]
attn_request_outputs._fields_ = [
    ("items", POINTER(attn_output)),
    ("n", c_size_t),
    ("precision", c_int),
    ("picture", POINTER(attn_picture_options)),
    ("options", POINTER(attn_option)),
    ("n_option", c_size_t),
    ("later", c_void_p * 4),
]
attn_request_maps._fields_ = [
    ("neutral", c_char_p),
    ("neutral_by", c_int),
    ("drop_sinks", c_double),
    ("later", c_void_p * 4),
]
attn_request._fields_ = [
    ("size", c_size_t),
    ("input", attn_input),
    ("source", attn_input),
    ("reading", attn_request_reading),
    ("attention", attn_request_attention),
    ("selection", attn_request_selection),
    ("edits", attn_request_edits),
    ("predict", attn_request_predict),
    ("outputs", attn_request_outputs),
    ("on_note", attn_note_fn),
    ("on_progress", attn_progress_fn),
    ("user", c_void_p),
    ("max_input", c_size_t),
    ("max_seconds", c_double),
    ("maps", attn_request_maps),
    ("chat", attn_chat_request),
    ("on_counted", attn_counted_note_fn),
    ("on_part", attn_progress_fn),
]
attn_result._fields_ = [
    ("n_token", c_size_t),
    ("n_key", c_size_t),
    ("n_thread", c_int),
    ("n_edited_row", c_size_t),
    ("is_abandoned", c_bool),
    ("predictions", attn_predictions),
    ("later", c_void_p * 4),
]
attn_position_numbers._fields_ = [
    ("numbers", POINTER(c_int32)),
    ("n", c_size_t),
    ("next", c_int32),
]
attn_session_options._fields_ = [
    ("size", c_size_t),
    ("n_max", c_size_t),
    ("n_source", c_size_t),
    ("cache", c_int),
    ("has_logits", c_bool),
    ("reads_once", c_bool),
    ("pool", c_void_p),
    ("trace", POINTER(attn_trace)),
    ("edits", POINTER(attn_edit)),
    ("n_edit", c_size_t),
    ("attention", POINTER(attn_attention)),
    ("cancel", POINTER(c_int)),
    ("needs_float32", c_bool),
    ("gemm", c_int),
    ("isa", c_int),
    ("embeddings_name", c_char_p),
    ("source_name", c_char_p),
    ("n_sequence", c_size_t),
    ("n_feed", c_size_t),
    ("key_mask", POINTER(c_int32)),
    ("n_key_mask", c_size_t),
    ("source_mask", POINTER(c_int32)),
    ("n_source_mask", c_size_t),
    ("has_projections", c_bool),
    ("positions", attn_position_numbers),
]
attn_catalog._fields_ = [
    ("size", c_size_t),
    ("folders", POINTER(c_char_p)),
    ("n_folder", c_size_t),
    ("hub", c_char_p),
    ("ollama", POINTER(c_char_p)),
    ("n_ollama", c_size_t),
    ("lm_studio", c_char_p),
]
attn_catalog_found._fields_ = [
    ("source", attn_source),
    ("origin", c_int),
    ("directory", c_char * 4096),
    ("fetch", c_char * 512),
    ("file", c_char * 4096),
    ("part", attn_override),
]
attn_weight_array._fields_ = [
    ("name", c_char * 96),
    ("rank", c_int),
    ("shape", c_size_t * 3),
]
attn_param._fields_ = [
    ("name", c_char_p),
    ("option", c_char_p),
    ("of", c_char_p),
    ("prefix", c_char_p),
    ("argument", c_char_p),
    ("help", c_char_p),
    ("type", c_int),
    ("home", c_int),
    ("keys", c_char_p),
    ("words", c_char_p),
    ("values", POINTER(c_int)),
    ("meant", c_char_p),
    ("offset", c_size_t),
    ("second", c_size_t),
    ("least", c_int64),
    ("most", c_int64),
    ("traits", c_uint),
    ("mark", c_uint),
    ("marks", c_size_t),
    ("media", c_uint),
    ("read", CFUNCTYPE(c_int, POINTER(attn_param), c_void_p, c_char_p, c_char_p, POINTER(attn_error))),
    ("release", CFUNCTYPE(None, POINTER(attn_param), c_void_p)),
    ("variable", c_char_p),
    ("aliases", c_char_p),
    ("letter", c_char),
]
attn_param_list._fields_ = [
    ("heading", c_char_p),
    ("items", POINTER(attn_param)),
    ("n", c_size_t),
    ("is_input", c_bool),
]
attn_param_part._fields_ = [
    ("list", POINTER(attn_param_list)),
    ("offset", c_size_t),
]
attn_selection_walk._fields_ = [
    ("at", attn_location),
    ("next", c_size_t),
]
attn_tensor._fields_ = [
    ("data", c_void_p),
    ("dtype", c_int),
    ("rank", c_int),
    ("shape", c_size_t * 16),
]
attn_ndarray._fields_ = [
    ("name", c_char_p),
    ("rank", c_int),
    ("shape", c_size_t * 16),
    ("data", POINTER(c_float)),
    ("file", c_void_p),
    ("converted", POINTER(c_float)),
]
attn_mask_array._fields_ = [
    ("name", c_char_p),
    ("rank", c_int),
    ("shape", c_size_t * 16),
    ("cells", POINTER(c_ubyte)),
    ("file", c_void_p),
]
attn_intervention._fields_ = [
    ("op", c_int),
    ("at", attn_location),
    ("layers", attn_number_list),
    ("positions", attn_number_list),
    ("keys", attn_number_list),
    ("heads", attn_head_list),
    ("values", attn_ndarray),
    ("vector_layers", POINTER(c_int64)),
    ("n_vector", c_size_t),
    ("factor", c_float),
    ("offset", c_float),
    ("name", c_char_p),
    ("text", c_char_p),
    ("made_layers", POINTER(c_int64)),
    ("function", attn_edit_fn),
    ("remark", c_char_p),
    ("later", c_void_p * 2),
]
attn_edit_texts._fields_ = [
    ("ablate", c_char_p),
    ("knockouts", POINTER(c_char_p)),
    ("patches", POINTER(c_char_p)),
    ("steers", POINTER(c_char_p)),
    ("projects", POINTER(c_char_p)),
    ("rescales", POINTER(c_char_p)),
    ("n_knockout", c_size_t),
    ("n_patch", c_size_t),
    ("n_steer", c_size_t),
    ("n_project", c_size_t),
    ("n_rescale", c_size_t),
    ("interventions", POINTER(attn_intervention)),
    ("n_intervention", c_size_t),
]
attn_pixels._fields_ = [
    ("n_channel", c_size_t),
    ("height", c_size_t),
    ("width", c_size_t),
    ("values", POINTER(c_float)),
    ("shown", POINTER(c_ubyte)),
    ("n_picture", c_size_t),
    ("tile_rows", c_size_t),
    ("tile_cols", c_size_t),
    ("given_height", c_size_t),
    ("given_width", c_size_t),
    ("shown_height", c_size_t),
    ("shown_width", c_size_t),
]
attn_table_order._fields_ = [
    ("size", c_size_t),
    ("sort", c_char_p),
    ("n_most", c_size_t),
    ("n_group", c_size_t),
    ("is_joint", c_bool),
    ("where", POINTER(c_char_p)),
    ("n_where", c_size_t),
    ("columns", c_char_p),
]
attn_table_style._fields_ = [
    ("form", c_int),
    ("precision", c_int),
    ("width", c_size_t),
    ("elsewhere", c_char_p),
    ("kept", c_char_p),
    ("caption", c_char_p),
    ("label", c_char_p),
    ("n_group", c_size_t),
    ("has_row_types", c_bool),
    ("is_chosen", c_bool),
    ("n_largest", c_size_t),
    ("all_rows", c_char_p),
    ("is_plain", c_bool),
]
attn_rgb._fields_ = [
    ("r", c_ubyte),
    ("g", c_ubyte),
    ("b", c_ubyte),
]
attn_color_scale._fields_ = [
    ("curve", c_int),
    ("span", c_int),
    ("low", c_double),
    ("high", c_double),
    ("is_signed", c_bool),
]
attn_figure_text._fields_ = [
    ("name", c_char_p),
    ("text", c_char_p),
    ("n", c_size_t),
]
attn_picture_options._fields_ = [
    ("size", c_size_t),
    ("figure", c_int),
    ("sites", attn_site_set),
    ("n_patch_row", c_size_t),
    ("n_patch_column", c_size_t),
    ("colormap", c_void_p),
    ("renormalizes", c_bool),
    ("merges_words", c_bool),
    ("title", c_char_p),
    ("theme", c_int),
    ("hides", c_int),
    ("width", c_size_t),
    ("depth", c_int),
    ("terminal_theme", c_int),
    ("is_plain", c_bool),
    ("name_fields", attn_name_fields_fn),
    ("dpi", c_double),
    ("font_size", c_double),
    ("figure_width", c_double),
    ("live", POINTER(attn_live)),
    ("on_note", attn_note_fn),
    ("user", c_void_p),
    ("chosen", c_char_p),
    ("patches", c_int),
    ("effects", c_void_p),
    ("answer", c_void_p),
    ("types", POINTER(attn_blob)),
    ("opening", c_void_p),
]
attn_output._fields_ = [
    ("format", c_void_p),
    ("path", c_char_p),
    ("sink", c_void_p),
    ("is_synced", c_bool),
]
attn_table_view._fields_ = [
    ("rows", c_uint),
    ("detail", c_uint),
    ("columns", c_uint),
    ("texts", c_uint),
    ("values", c_uint),
    ("cells", c_uint),
    ("marks", c_uint),
    ("figure", c_int),
    ("traits", c_uint),
    ("quantity", c_char_p),
    ("asked", c_char_p),
    ("parts", c_char_p),
    ("inputs", c_char_p),
    ("only", c_char_p),
]
attn_table_picture._fields_ = [
    ("view", attn_table_view),
    ("n_label", c_size_t),
    ("answer", c_char * 128),
    ("metric", c_char_p),
    ("target", c_char_p),
    ("foil", c_char_p),
    ("model", c_char_p),
    ("note", c_char_p),
    ("texts", attn_figure_text * 3),
    ("run", POINTER(attn_labels)),
    ("other_run", POINTER(attn_labels)),
    ("lens", c_void_p),
    ("life", c_void_p),
    ("cards", c_void_p),
    ("n_sharing", c_size_t),
    ("words", c_char * 96),
    ("means", c_char * 256),
    ("has_models", c_bool),
]
attn_live_extra._fields_ = [
    ("name", c_char_p),
    ("data", c_void_p),
    ("size", c_size_t),
    ("height", c_size_t),
    ("width", c_size_t),
]
attn_live._fields_ = [
    ("module", c_void_p),
    ("n_module", c_size_t),
    ("model", c_char_p),
    ("given", c_char_p),
    ("files", POINTER(attn_blob)),
    ("n_file", c_size_t),
    ("n_byte", c_uint64),
    ("reading", POINTER(attn_option)),
    ("n_reading", c_size_t),
    ("rgb", POINTER(c_ubyte)),
    ("height", c_size_t),
    ("width", c_size_t),
    ("story", c_char_p),
    ("n_story", c_size_t),
    ("extras", POINTER(attn_live_extra)),
    ("n_extra", c_size_t),
    ("words", c_char_p),
    ("n_words", c_size_t),
]
attn_live_args._fields_ = [
    ("source", POINTER(attn_source)),
    ("given", c_char_p),
    ("module", c_char_p),
    ("most", c_size_t),
    ("story", c_char_p),
    ("request", POINTER(attn_request)),
    ("image", c_char_p),
    ("reading", POINTER(attn_option)),
    ("n_reading", c_size_t),
    ("words", c_char_p),
]
attn_item_label._fields_ = [
    ("name", c_char_p),
    ("value", attn_cell),
    ("text", c_char_p),
]
attn_item._fields_ = [
    ("number", c_size_t),
    ("id_kind", c_int),
    ("id", c_char_p),
    ("n_id", c_size_t),
    ("pair", c_int),
    ("input", attn_input),
    ("other", attn_input),
    ("source", attn_input),
    ("corrupted_source", attn_input),
    ("baseline", attn_input),
    ("neutral", attn_input),
    ("answer", attn_answer_args),
    ("from", attn_number_list),
    ("to", attn_number_list),
    ("queries", attn_number_list),
    ("next", POINTER(c_char_p)),
    ("n_next", c_size_t),
    ("n_next_ids", c_size_t),
    ("next_ids", POINTER(attn_label_ids)),
    ("words", attn_word_texts),
    ("source_words", attn_word_texts),
    ("places", POINTER(attn_item_place)),
    ("n_place", c_size_t),
    ("named", attn_places),
    ("labels", POINTER(attn_item_label)),
    ("n_label", c_size_t),
    ("failure", c_int),
    ("err", attn_error),
    ("store", c_void_p),
    ("line", c_size_t),
    ("begin", c_uint64),
    ("end", c_uint64),
    ("texts", POINTER(attn_input)),
    ("images", c_char_p * 2),
    ("continuation", c_char_p),
    ("has_empty_text", c_bool),
    ("keys", attn_places),
    ("place_capacity", c_size_t),
    ("label_capacity", c_size_t),
    ("messages", c_char_p),
    ("system", c_char_p),
    ("chat", c_char_p),
    ("tools", c_char_p),
    ("seal", c_uint64),
    ("row_labels", POINTER(attn_item_label)),
    ("n_row_label", c_size_t),
]
attn_result_heads._fields_ = [
    ("measures", POINTER(c_float)),
    ("exact", POINTER(c_double)),
    ("which", c_uint64),
    ("n_layer", c_size_t),
    ("n_head", c_size_t),
    ("mixes", c_void_p),
    ("later", c_void_p * 4),
]
attn_result_answer._fields_ = [
    ("is_general", c_bool),
    ("position", c_size_t),
    ("rows", c_void_p),
    ("beside", POINTER(c_double)),
    ("n_beside", c_size_t),
    ("metric", c_char_p),
    ("row", c_char_p),
    ("value", c_double),
    ("has_right", c_bool),
    ("right", c_double),
    ("chosen", c_char_p),
    ("later", c_void_p * 4),
]
attn_item_result._fields_ = [
    ("item", POINTER(attn_item)),
    ("is_second", c_bool),
    ("is_last", c_bool),
    ("is_followed", c_bool),
    ("failure", c_int),
    ("err", attn_error),
    ("spaces", c_void_p),
    ("run", c_void_p),
    ("text", c_void_p),
    ("n_token", c_size_t),
    ("labels", POINTER(attn_labels)),
    ("capture", c_void_p),
    ("predictions", attn_predictions),
    ("surprisal", POINTER(c_double)),
    ("numbers", POINTER(c_double)),
    ("logits", POINTER(c_float)),
    ("heads", attn_result_heads),
    ("answer", attn_result_answer),
]
attn_many_options._fields_ = [
    ("size", c_size_t),
    ("request", POINTER(attn_request)),
    ("measures", c_uint64),
    ("keeps_tensors", c_bool),
    ("has_surprisal", c_bool),
    ("n_window", c_size_t),
    ("n_window_byte", c_size_t),
    ("has_logits", c_bool),
    ("has_mixes", c_bool),
    ("is_serial", c_bool),
    ("stride", c_size_t),
    ("tokens", c_void_p),
    ("is_only", c_bool),
]
attn_item_calls._fields_ = [
    ("next", attn_next_fn),
    ("done", attn_done_fn),
    ("release", CFUNCTYPE(None, POINTER(attn_item))),
    ("on_end", CFUNCTYPE(None, c_void_p)),
    ("ask", attn_answer_fn),
    ("find", attn_answer_fn),
    ("user", c_void_p),
]
attn_items_options._fields_ = [
    ("size", c_size_t),
    ("path", c_char_p),
    ("data", c_char_p),
    ("n_data", c_size_t),
    ("form", c_int),
    ("max_line", c_size_t),
    ("shard", c_size_t),
    ("shards", c_size_t),
    ("cancel", POINTER(c_int)),
    ("inputs", POINTER(attn_input)),
    ("n_input", c_size_t),
    ("has_marks", c_bool),
]
attn_records_item._fields_ = [
    ("format", c_char_p),
    ("path", c_char_p),
    ("sink", c_void_p),
]
attn_each_result._fields_ = [
    ("n_item", c_uint64),
    ("n_failed", c_uint64),
    ("n_before", c_uint64),
    ("has_failed", c_bool),
    ("is_complete", c_bool),
    ("can_resume", c_bool),
    ("is_abandoned", c_bool),
    ("seconds", c_double),
]
attn_each_options._fields_ = [
    ("size", c_size_t),
    ("path", c_char_p),
    ("sink", c_void_p),
    ("form", c_int),
    ("is_resumed", c_bool),
    ("is_spoiled", CFUNCTYPE(c_bool, c_void_p)),
    ("user", c_void_p),
    ("result", POINTER(attn_each_result)),
    ("key", c_char_p),
]
attn_study_sum._fields_ = [
    ("size", c_size_t),
    ("n_item", c_size_t),
    ("n_failed", c_size_t),
    ("n_group", c_size_t),
    ("n_label", c_size_t),
    ("n_pair", c_size_t),
    ("metric", c_char_p),
    ("row", c_char_p),
    ("mean", c_double),
    ("se", c_double),
    ("right", c_double),
    ("n_tie", c_size_t),
    ("quantity", c_char_p),
]
attn_study_args._fields_ = [
    ("size", c_size_t),
    ("items", c_void_p),
    ("group_by", c_char_p),
    ("paired", c_char_p),
    ("n_bootstrap", c_size_t),
    ("seed", c_uint64),
    ("interval", c_double),
    ("max_errors", c_int64),
    ("lists_labels", c_bool),
    ("sum", POINTER(attn_study_sum)),
    ("each", POINTER(attn_each_options)),
    ("sort", c_char_p),
    ("cluster", c_char_p),
    ("has_contrasts", c_bool),
    ("fdr", c_char_p),
    ("columns", c_char_p),
    ("where", POINTER(c_char_p)),
    ("n_where", c_size_t),
    ("is_narrow", c_bool),
    ("is_read", c_bool),
]
attn_items_args._fields_ = [
    ("items", attn_items_options),
    ("study", attn_study_args),
    ("each", attn_each_options),
]
attn_ablate_set._fields_ = [
    ("heads", attn_head_list),
    ("name", c_char_p),
    ("later", c_void_p * 2),
]
attn_ablate_args._fields_ = [
    ("size", c_size_t),
    ("answer", attn_answer_args),
    ("by", c_int),
    ("layer", c_int),
    ("replacement", c_int),
    ("references", POINTER(attn_input)),
    ("n_reference", c_size_t),
    ("seed", c_uint64),
    ("is_cumulative", c_bool),
    ("n_control", c_size_t),
    ("sets", POINTER(attn_ablate_set)),
    ("n_set", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("is_of_encoder", c_bool),
    ("picture_parts", c_uint),
    ("tower", c_int),
    ("is_estimated", c_bool),
]
attn_ablate_sum._fields_ = [
    ("size", c_size_t),
    ("n_row", c_size_t),
    ("sites", c_char_p),
    ("n_feed", c_size_t),
]
attn_align_args._fields_ = [
    ("size", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("evaluates", c_bool),
    ("is_line", c_bool),
    ("layers", attn_number_list),
    ("heads", attn_head_list),
    ("method", c_char_p),
    ("is_by_word", c_bool),
    ("is_shifted", c_bool),
    ("text_template", c_char_p),
    ("gold", c_char_p),
    ("is_soft", c_bool),
]
attn_score_cells._fields_ = [
    ("text", c_char_p),
    ("queries", attn_number_list),
    ("keys", attn_number_list),
    ("head", attn_head_list),
]
attn_attribute_args._fields_ = [
    ("size", c_size_t),
    ("answer", attn_answer_args),
    ("by", c_int),
    ("n_most", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("method", c_int),
    ("n_point", c_size_t),
    ("baseline", c_int),
    ("given", attn_input),
    ("merges_words", c_bool),
    ("n_target", c_size_t),
    ("baseline_keep", attn_number_list),
    ("score", attn_score_cells),
    ("sides", c_int),
]
attn_generate_args._fields_ = [
    ("size", c_size_t),
    ("n_most", c_size_t),
    ("temperature", c_double),
    ("top_k", c_size_t),
    ("top_p", c_double),
    ("min_p", c_double),
    ("seed", c_uint64),
    ("stops", POINTER(c_char_p)),
    ("n_stop", c_size_t),
    ("on_token", attn_token_fn),
    ("user", c_void_p),
    ("study", POINTER(attn_study_args)),
]
attn_generation._fields_ = [
    ("size", c_size_t),
    ("ids", POINTER(c_int32)),
    ("n_prompt", c_size_t),
    ("n", c_size_t),
    ("log_probs", POINTER(c_double)),
    ("text", c_char_p),
    ("n_text", c_size_t),
    ("end", c_int),
]
attn_circuit_args._fields_ = [
    ("size", c_size_t),
    ("corrupted", attn_input),
    ("answer", attn_answer_args),
    ("is_to_restore", c_bool),
    ("method", c_int),
    ("n_point", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("curve", c_char_p),
    ("is_by_score", c_bool),
    ("n_random", c_size_t),
    ("seed", c_uint64),
    ("kept_bytes", c_size_t),
    ("n_edge", c_size_t),
    ("evaluate", c_char_p),
]
attn_collect_args._fields_ = [
    ("size", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("at", attn_number_list),
    ("npz", c_char_p),
    ("mean_by", c_char_p),
]
attn_diff_args._fields_ = [
    ("size", c_size_t),
    ("host", c_void_p),
    ("request", POINTER(attn_request)),
    ("study", POINTER(attn_study_args)),
]
attn_diff_sum._fields_ = [
    ("size", c_size_t),
    ("n_same", c_size_t),
    ("n_row", c_size_t),
    ("is_aligned", c_bool),
    ("n_token", c_size_t),
    ("kl", c_double),
    ("n_same_top", c_size_t),
    ("nats", c_double),
    ("other_nats", c_double),
]
attn_examples_args._fields_ = [
    ("size", c_size_t),
    ("measure", c_char_p),
    ("over", c_int),
    ("n_bin", c_size_t),
    ("n_top", c_size_t),
    ("keeps_rows", c_bool),
    ("study", POINTER(attn_study_args)),
]
attn_lens_args._fields_ = [
    ("size", c_size_t),
    ("top", c_size_t),
    ("answer", attn_answer_args),
    ("reads_heads", c_bool),
    ("study", POINTER(attn_study_args)),
    ("map", c_char_p),
    ("n_answer", c_size_t),
    ("measures", c_uint),
]
attn_patch_args._fields_ = [
    ("size", c_size_t),
    ("corrupted", attn_input),
    ("answer", attn_answer_args),
    ("site", c_char_p),
    ("direction", c_int),
    ("n_control", c_size_t),
    ("seed", c_uint64),
    ("places", POINTER(attn_item_place)),
    ("n_place", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("corrupted_source", attn_input),
    ("method", c_int),
    ("n_point", c_size_t),
    ("is_by_position", c_bool),
    ("n_most", c_size_t),
    ("n_verified", c_size_t),
    ("kept_bytes", c_size_t),
    ("path", c_char_p),
    ("is_frozen", c_bool),
]
attn_estimate_check._fields_ = [
    ("n", c_size_t),
    ("pearson", c_double),
    ("spearman", c_double),
]
attn_patch_sum._fields_ = [
    ("size", c_size_t),
    ("clean", c_double),
    ("corrupted", c_double),
    ("n_row", c_size_t),
    ("n_feed", c_size_t),
    ("n_part", c_size_t),
    ("top", attn_estimate_check),
    ("random", attn_estimate_check),
    ("random_most", c_double),
    ("least", c_double),
    ("n_above", c_size_t),
    ("most_missed", c_double),
]
attn_score_args._fields_ = [
    ("size", c_size_t),
    ("stride", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("by", c_int),
    ("measures", c_uint),
    ("answer", attn_answer_args),
    ("regions", c_char_p),
]
attn_score_sum._fields_ = [
    ("size", c_size_t),
    ("n_token", c_size_t),
    ("nats", c_double),
]
attn_sinks_args._fields_ = [
    ("size", c_size_t),
    ("by", c_int),
    ("threshold", c_double),
    ("study", POINTER(attn_study_args)),
    ("sort", c_char_p),
    ("n_most", c_size_t),
]
attn_spans_args._fields_ = [
    ("size", c_size_t),
    ("by", c_int),
    ("spans", c_char_p),
    ("neutral", attn_input),
    ("continuation", c_char_p),
    ("n_generated", c_size_t),
    ("has_effect", c_bool),
    ("answer", attn_answer_args),
    ("hides", c_int),
    ("study", POINTER(attn_study_args)),
]
attn_heads_probe._fields_ = [
    ("length", c_size_t),
    ("repeats", c_size_t),
    ("seed", c_uint64),
    ("n", c_size_t),
    ("is_needle", c_bool),
    ("needle_depth", c_double),
    ("is_own", c_bool),
    ("later", c_void_p * 4),
]
attn_heads_picture._fields_ = [
    ("is_localized", c_bool),
    ("n_kept", c_size_t),
    ("tower", c_int),
    ("later", c_void_p * 4),
]
attn_heads_weights._fields_ = [
    ("is_by_head", c_bool),
    ("composition", c_int),
    ("svd", c_char_p),
    ("n_top", c_size_t),
    ("later", c_void_p * 4),
]
attn_heads_args._fields_ = [
    ("size", c_size_t),
    ("has_probe", c_bool),
    ("probe", attn_heads_probe),
    ("measures", c_uint64),
    ("threshold", c_double),
    ("pattern", POINTER(attn_ndarray)),
    ("from", attn_number_list),
    ("to", attn_number_list),
    ("has_effect", c_bool),
    ("effects", c_uint),
    ("answer", attn_answer_args),
    ("corrupted", attn_input),
    ("sort", c_char_p),
    ("n_most", c_size_t),
    ("study", POINTER(attn_study_args)),
    ("cards", c_void_p),
    ("by", c_int),
    ("renormalizes", c_bool),
    ("has_shares", c_bool),
    ("n_sink", c_size_t),
    ("n_near", c_size_t),
    ("picture", attn_heads_picture),
    ("weights", attn_heads_weights),
]
attn_attention_args._fields_ = [
    ("kind", c_char_p),
    ("mask", c_char_p),
    ("keep", c_char_p),
    ("change", attn_attention_change),
    ("cells", attn_mask_array),
    ("kept", attn_mask_array),
]
attn_param_rule._fields_ = [
    ("given", c_char_p),
    ("when", c_char_p),
    ("unless", c_char_p),
    ("needs", c_char_p),
    ("excludes", c_char_p),
    ("message", c_char_p),
    ("hint", c_char_p),
    ("time", c_int),
]
attn_param_rules._fields_ = [
    ("items", POINTER(attn_param_rule)),
    ("n", c_size_t),
]
attn_question._fields_ = [
    ("name", c_char_p),
    ("summary", c_char_p),
    ("description", c_char_p),
    ("examples", c_char_p),
    ("inputs", c_char_p),
    ("lacks", c_char_p),
    ("has_place_rows", c_bool),
    ("parts", POINTER(attn_param_part)),
    ("n_part", c_size_t),
    ("rules", attn_param_rules),
    ("defaults", c_void_p),
    ("args_size", c_size_t),
    ("study", c_size_t),
    ("procedure", c_void_p),
    ("choose", CFUNCTYPE(c_void_p, c_void_p)),
    ("quicker", c_char_p),
    ("has_quicker", CFUNCTYPE(c_bool, c_void_p, POINTER(attn_request), c_void_p)),
]
attn_question_call._fields_ = [
    ("question", c_char_p),
    ("host", c_void_p),
    ("request", POINTER(attn_request)),
    ("args", c_void_p),
]
attn_explain_args._fields_ = [
    ("size", c_size_t),
    ("selection", c_void_p),
    ("attention", POINTER(attn_attention)),
    ("arrays", c_void_p),
    ("edits", POINTER(attn_edit)),
    ("n_edit", c_size_t),
    ("config", c_void_p),
    ("compute", c_int),
    ("key_mask", POINTER(c_int32)),
    ("source_mask", POINTER(c_int32)),
    ("positions", attn_position_numbers),
]
attn_explained_key._fields_ = [
    ("key", c_size_t),
    ("is_visible", c_bool),
    ("fit", c_float),
    ("bias", c_double),
    ("scaled", c_double),
    ("score", c_float),
    ("weight", c_float),
    ("kept", c_float),
    ("exponential", c_double),
    ("k_length", c_double),
    ("k", POINTER(c_float)),
    ("v", POINTER(c_float)),
    ("c2p", c_float),
    ("p2c", c_float),
]
attn_explained_rotation._fields_ = [
    ("projected", POINTER(c_float)),
    ("normed", POINTER(c_float)),
    ("frequencies", POINTER(c_float)),
    ("n_pair", c_size_t),
    ("has_qk_norm", c_bool),
    ("turns_neighbours", c_bool),
    ("numbers", c_size_t * 3),
]
attn_explanation._fields_ = [
    ("attention", POINTER(attn_attention)),
    ("at", attn_location),
    ("kv_head", c_int),
    ("query", c_size_t),
    ("is_cross", c_bool),
    ("dims", POINTER(attn_dims)),
    ("n_key", c_size_t),
    ("n_visible", c_size_t),
    ("x", POINTER(c_float)),
    ("q", POINTER(c_float)),
    ("z", POINTER(c_float)),
    ("attn_out", POINTER(c_float)),
    ("q_length", c_double),
    ("divisor", c_double),
    ("rotation", attn_explained_rotation),
    ("keys", POINTER(attn_explained_key)),
    ("n_cell", c_size_t),
    ("largest", c_size_t),
    ("strongest", c_size_t),
    ("exponential_sum", c_double),
    ("sink", POINTER(c_float)),
    ("sink_exponential", c_double),
    ("visible_share", c_double),
    ("is_rounded", c_bool),
]


# Results and arguments of every function.
FUNCTIONS = {
    "attn_version": (c_char_p, []),
    "attn_status_text": (c_char_p, [c_int]),
    "attn_error_set": (c_int, [POINTER(attn_error), c_int, c_char_p]),
    "attn_request_stage_text": (c_char_p, [c_int]),
    "attn_reason_text": (c_char_p, [c_int]),
    "attn_note_name": (c_char_p, [c_int]),
    "attn_table_create": (c_int, [c_char_p, POINTER(attn_column), c_size_t, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_table_append": (c_int, [c_void_p, POINTER(attn_cell), c_size_t, POINTER(attn_error)]),
    "attn_table_name": (c_char_p, [c_void_p]),
    "attn_table_n_column": (c_size_t, [c_void_p]),
    "attn_table_n_row": (c_size_t, [c_void_p]),
    "attn_table_column": (POINTER(attn_column), [c_void_p, c_size_t]),
    "attn_table_cell": (attn_cell, [c_void_p, c_size_t, c_size_t]),
    "attn_table_free": (None, [c_void_p]),
    "attn_config_dims": (attn_dims, [c_void_p, c_size_t]),
    "attn_config_name": (c_char_p, [c_size_t]),
    "attn_config_value": (attn_cell, [c_void_p, c_char_p]),
    "attn_model_options_init": (POINTER(attn_model_options), [POINTER(attn_model_options), c_size_t]),
    "attn_model_open": (c_int, [POINTER(attn_source), POINTER(attn_model_options), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_model_free": (None, [c_void_p]),
    "attn_model_name": (c_char_p, [c_void_p]),
    "attn_model_config": (c_void_p, [c_void_p]),
    "attn_encode_options_init": (POINTER(attn_encode_options), [POINTER(attn_encode_options), c_size_t]),
    "attn_encoding_release": (None, [POINTER(attn_encoding)]),
    "attn_tokenizer_open": (c_int, [POINTER(attn_source), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_tokenizer_free": (None, [c_void_p]),
    "attn_tokenizer_encode": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(attn_encode_options), POINTER(attn_encoding), POINTER(attn_error)]),
    "attn_tokenizer_token": (POINTER(c_char), [c_void_p, c_int32, POINTER(c_size_t)]),
    "attn_tokenizer_decode": (c_int, [c_void_p, POINTER(c_int32), c_size_t, POINTER(c_char_p), POINTER(c_size_t), POINTER(attn_error)]),
    "attn_tokenizer_text_free": (None, [c_char_p]),
    "attn_host_options_init": (POINTER(attn_host_options), [POINTER(attn_host_options), c_size_t]),
    "attn_host_create": (c_int, [POINTER(attn_source), POINTER(attn_host_options), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_host_free": (None, [c_void_p]),
    "attn_host_model": (c_void_p, [c_void_p]),
    "attn_host_tokenizer": (c_int, [c_void_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_host_open": (c_int, [c_char_p, POINTER(attn_host_options), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_site_name": (c_char_p, [c_int]),
    "attn_sites_parse": (c_int, [c_char_p, POINTER(attn_site_set), POINTER(attn_error)]),
    "attn_model_stack_name": (c_char_p, [c_int]),
    "attn_attention_init": (POINTER(attn_attention), [POINTER(attn_attention), c_size_t]),
    "attn_selection_create": (c_int, [POINTER(attn_dims), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_selection_free": (None, [c_void_p]),
    "attn_selection_add_head": (c_int, [c_void_p, POINTER(attn_location), POINTER(attn_error)]),
    "attn_selection_add_queries": (c_int, [c_void_p, c_int, c_size_t, c_size_t, POINTER(attn_error)]),
    "attn_selection_set_sites": (c_int, [c_void_p, attn_site_set, POINTER(attn_error)]),
    "attn_selection_dims": (POINTER(attn_dims), [c_void_p]),
    "attn_edit_init": (POINTER(attn_edit), [POINTER(attn_edit), c_size_t]),
    "attn_request_init": (POINTER(attn_request), [POINTER(attn_request), c_size_t]),
    "attn_run_prepare": (c_int, [c_void_p, POINTER(attn_request), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_run_free": (None, [c_void_p]),
    "attn_run_selection": (c_void_p, [c_void_p]),
    "attn_run_labels": (POINTER(attn_labels), [c_void_p]),
    "attn_run_perform": (c_int, [c_void_p, POINTER(attn_trace), POINTER(attn_result), POINTER(attn_error)]),
    "attn_run_request": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_result), POINTER(attn_error)]),
    "attn_run_capture": (c_int, [c_void_p, POINTER(attn_request), POINTER(c_void_p), POINTER(attn_result), POINTER(attn_error)]),
    "attn_result_tables": (c_int, [POINTER(attn_result), POINTER(c_void_p), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_result_release": (None, [POINTER(attn_result)]),
    "attn_capture_create": (c_int, [c_void_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_capture_trace": (POINTER(attn_trace), [c_void_p]),
    "attn_capture_tensor": (POINTER(c_float), [c_void_p, POINTER(attn_location)]),
    "attn_capture_head": (POINTER(c_float), [c_void_p, POINTER(attn_location)]),
    "attn_capture_has_cell": (c_bool, [c_void_p, POINTER(attn_location), c_size_t]),
    "attn_capture_free": (None, [c_void_p]),
    "attn_session_options_init": (POINTER(attn_session_options), [POINTER(attn_session_options), c_size_t]),
    "attn_session_create": (c_int, [c_void_p, POINTER(attn_session_options), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_session_free": (None, [c_void_p]),
    "attn_session_feed": (c_int, [c_void_p, POINTER(c_int32), c_size_t, POINTER(attn_error)]),
    "attn_session_logits": (c_int, [c_void_p, POINTER(POINTER(c_float)), POINTER(attn_error)]),
    "attn_session_logits_at": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(c_float), POINTER(attn_error)]),
    "attn_session_n_position": (c_size_t, [c_void_p]),
    "attn_session_rewind": (c_int, [c_void_p, c_size_t, POINTER(attn_error)]),
    "attn_session_reset": (None, [c_void_p]),
    "attn_builtin_find": (c_bool, [c_char_p, POINTER(attn_source)]),
    "attn_catalog_init": (POINTER(attn_catalog), [POINTER(attn_catalog), c_size_t]),
    "attn_catalog_find": (c_int, [POINTER(attn_catalog), c_char_p, POINTER(attn_catalog_found), POINTER(attn_error)]),
    "attn_catalog_find_projector": (c_int, [POINTER(attn_catalog), c_char_p, c_char_p, POINTER(attn_error)]),
    "attn_catalog_visit": (c_int, [POINTER(attn_catalog), attn_catalog_fn, c_void_p, POINTER(attn_error)]),
    "attn_catalog_list": (c_int, [POINTER(attn_catalog), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_pool_create": (c_int, [c_int, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_pool_n_thread": (c_int, [c_void_p]),
    "attn_pool_free": (None, [c_void_p]),
    "attn_model_weights_create": (c_int, [c_void_p, POINTER(POINTER(attn_weight_array)), POINTER(c_size_t), POINTER(attn_error)]),
    "attn_model_weights_free": (None, [POINTER(attn_weight_array)]),
    "attn_model_weight_read": (c_int, [c_void_p, c_char_p, POINTER(c_float), POINTER(attn_error)]),
    "attn_param_set": (c_int, [POINTER(attn_param), c_void_p, c_char_p, c_char_p, POINTER(attn_error)]),
    "attn_param_release": (None, [POINTER(attn_param), c_void_p]),
    "attn_run_begin_capture": (c_int, [c_void_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_result_metric": (c_int, [POINTER(attn_result), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_host_tower": (c_int, [c_void_p, c_int, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_request_params_find": (POINTER(attn_param_list), [c_char_p]),
    "attn_site_layout": (c_int, [c_int]),
    "attn_site_is_in_layer": (c_bool, [c_int]),
    "attn_site_is_of_metric": (c_bool, [c_int]),
    "attn_site_archive_name": (c_size_t, [c_int, c_int, c_char_p]),
    "attn_location_archive_name": (c_size_t, [POINTER(attn_location), c_char_p]),
    "attn_selection_copy": (c_int, [c_void_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_selection_shape": (c_int, [c_void_p, POINTER(attn_location), POINTER(c_size_t)]),
    "attn_selection_has_head": (c_bool, [c_void_p, POINTER(attn_location)]),
    "attn_selection_has_query": (c_bool, [c_void_p, c_int, c_size_t]),
    "attn_selection_next": (c_bool, [c_void_p, POINTER(attn_selection_walk)]),
    "attn_ndarray_read": (c_int, [c_char_p, c_int, c_int, c_char_p, POINTER(attn_ndarray), POINTER(attn_error)]),
    "attn_ndarray_release": (None, [POINTER(attn_ndarray)]),
    "attn_intervention_init": (POINTER(attn_intervention), [POINTER(attn_intervention), c_size_t]),
    "attn_edit_texts_read": (c_int, [POINTER(attn_edit_texts), c_void_p, POINTER(attn_request_edits), POINTER(attn_error)]),
    "attn_edit_texts_release": (None, [POINTER(attn_edit_texts)]),
    "attn_pixels_check_size": (c_int, [POINTER(attn_pixels), c_char_p, POINTER(attn_error)]),
    "attn_sound_read": (c_int, [c_char_p, POINTER(attn_ndarray), POINTER(attn_error)]),
    "attn_sink_create_file": (c_int, [c_char_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_sink_create_descriptor": (c_int, [c_int, c_char_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_sink_create_memory": (c_int, [POINTER(c_void_p), POINTER(attn_error)]),
    "attn_sink_write": (None, [c_void_p, c_void_p, c_size_t]),
    "attn_sink_bytes": (c_void_p, [c_void_p, POINTER(c_size_t)]),
    "attn_sink_commit": (c_int, [c_void_p, POINTER(attn_error)]),
    "attn_sink_free": (None, [c_void_p]),
    "attn_table_order_init": (POINTER(attn_table_order), [POINTER(attn_table_order), c_size_t]),
    "attn_table_sort": (c_int, [c_void_p, POINTER(attn_table_order), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_table_write": (c_int, [c_void_p, c_int, c_int, c_void_p, POINTER(attn_error)]),
    "attn_n_colormap": (c_size_t, []),
    "attn_colormap_at": (c_void_p, [c_size_t]),
    "attn_colormap_name": (c_char_p, [c_void_p]),
    "attn_picture_options_init": (POINTER(attn_picture_options), [POINTER(attn_picture_options), c_size_t]),
    "attn_format_find": (c_void_p, [c_char_p]),
    "attn_table_picture_check": (c_int, [POINTER(attn_output), POINTER(attn_error)]),
    "attn_table_picture_show": (c_int, [POINTER(attn_table_picture), c_void_p, c_char_p, POINTER(attn_error)]),
    "attn_table_picture_column": (POINTER(attn_column), [POINTER(attn_table_picture), c_void_p]),
    "attn_table_picture_write": (c_int, [c_void_p, POINTER(attn_table_picture), POINTER(attn_picture_options), POINTER(attn_output), POINTER(attn_error)]),
    "attn_table_write_captioned": (c_int, [c_void_p, POINTER(attn_table_picture), POINTER(attn_table_style), c_void_p, POINTER(attn_error)]),
    "attn_answer_lines": (c_int, [c_void_p, c_size_t, c_void_p, POINTER(attn_error)]),
    "attn_live_open": (c_int, [POINTER(attn_live_args), c_void_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_live_of": (POINTER(attn_live), [c_void_p]),
    "attn_live_n_byte": (c_uint64, [c_void_p]),
    "attn_live_free": (None, [c_void_p]),
    "attn_request_fill_page": (None, [c_void_p, POINTER(attn_request)]),
    "attn_run_table_page": (c_int, [c_void_p, POINTER(attn_request), c_void_p, POINTER(attn_table_picture), POINTER(attn_error)]),
    "attn_measure_name": (c_char_p, [c_int]),
    "attn_measures_parse": (c_int, [c_char_p, POINTER(c_uint64), POINTER(attn_error)]),
    "attn_head_cards_create": (c_int, [POINTER(c_void_p), POINTER(attn_error)]),
    "attn_head_cards_free": (None, [c_void_p]),
    "attn_item_free": (None, [POINTER(attn_item)]),
    "attn_many_options_init": (POINTER(attn_many_options), [POINTER(attn_many_options), c_size_t]),
    "attn_run_many": (c_int, [c_void_p, POINTER(attn_many_options), POINTER(attn_item_calls), POINTER(attn_error)]),
    "attn_items_options_init": (POINTER(attn_items_options), [POINTER(attn_items_options), c_size_t]),
    "attn_items_open": (c_int, [POINTER(attn_items_options), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_items_free": (None, [c_void_p]),
    "attn_items_next": (c_int, [c_void_p, POINTER(POINTER(attn_item)), POINTER(attn_error)]),
    "attn_each_options_init": (POINTER(attn_each_options), [POINTER(attn_each_options), c_size_t]),
    "attn_study_sum_init": (POINTER(attn_study_sum), [POINTER(attn_study_sum), c_size_t]),
    "attn_study_args_init": (POINTER(attn_study_args), [POINTER(attn_study_args), c_size_t]),
    "attn_ablate_sum_init": (POINTER(attn_ablate_sum), [POINTER(attn_ablate_sum), c_size_t]),
    "attn_ablate": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_ablate_args), POINTER(c_void_p), POINTER(attn_ablate_sum), POINTER(attn_error)]),
    "attn_align": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_align_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_attribute": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_attribute_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_generation_init": (POINTER(attn_generation), [POINTER(attn_generation), c_size_t]),
    "attn_generate": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_generate_args), POINTER(attn_generation), POINTER(attn_error)]),
    "attn_generate_items": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_generate_args), POINTER(attn_error)]),
    "attn_generation_release": (None, [POINTER(attn_generation)]),
    "attn_generation_end_text": (c_char_p, [c_int]),
    "attn_attribute_matrix": (c_int, [c_void_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_attribute_continue": (c_int, [c_void_p, POINTER(attn_request), c_size_t, c_char_p, POINTER(attn_generation), POINTER(attn_error)]),
    "attn_circuit": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_circuit_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_collect_args_init": (POINTER(attn_collect_args), [POINTER(attn_collect_args), c_size_t]),
    "attn_collect": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_collect_args), POINTER(attn_error)]),
    "attn_diff_sum_init": (POINTER(attn_diff_sum), [POINTER(attn_diff_sum), c_size_t]),
    "attn_diff": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_diff_args), POINTER(c_void_p), POINTER(attn_diff_sum), POINTER(attn_error)]),
    "attn_answer_heads": (c_int, [c_void_p, POINTER(attn_request), c_uint, POINTER(c_void_p), POINTER(attn_table_picture), POINTER(attn_error)]),
    "attn_examples": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_examples_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_lens": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_lens_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_life": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_lens_args), POINTER(c_void_p), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_pair": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_diff_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_pair_maps": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_diff_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_pair_name_models": (None, [c_void_p, POINTER(attn_diff_args), POINTER(attn_table_picture), c_char_p, c_size_t]),
    "attn_patch_sum_init": (POINTER(attn_patch_sum), [POINTER(attn_patch_sum), c_size_t]),
    "attn_patch": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_patch_args), POINTER(c_void_p), POINTER(attn_patch_sum), POINTER(attn_error)]),
    "attn_score_sum_init": (POINTER(attn_score_sum), [POINTER(attn_score_sum), c_size_t]),
    "attn_score": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_score_args), POINTER(c_void_p), POINTER(attn_score_sum), POINTER(attn_error)]),
    "attn_similarity": (c_int, [c_void_p, POINTER(attn_request), c_size_t, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_head_measures": (c_int, [c_void_p, c_uint64, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_link_scores": (c_int, [c_char_p, c_char_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_token_times": (c_int, [POINTER(attn_ndarray), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_speech_times": (c_int, [c_void_p, POINTER(attn_request), c_char_p, POINTER(c_void_p), POINTER(attn_error)]),
    "attn_sinks": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_sinks_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_heads": (c_int, [c_void_p, POINTER(attn_request), POINTER(attn_heads_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_heads_keep_types": (c_int, [c_void_p, c_char_p, POINTER(attn_error)]),
    "attn_attention_args_check": (c_int, [POINTER(attn_attention_args), POINTER(attn_error)]),
    "attn_attention_args_open": (c_int, [POINTER(attn_attention_args), POINTER(attn_error)]),
    "attn_attention_args_release": (None, [POINTER(attn_attention_args)]),
    "attn_param_rules_check": (c_int, [POINTER(attn_param_rules), c_int, attn_param_given_fn, c_void_p, POINTER(attn_error)]),
    "attn_question_check": (c_int, [POINTER(attn_question), attn_param_given_fn, c_void_p, POINTER(attn_error)]),
    "attn_question_find": (POINTER(attn_question), [c_char_p]),
    "attn_question_at": (POINTER(attn_question), [c_size_t]),
    "attn_question_init": (c_void_p, [c_char_p, c_void_p, c_size_t]),
    "attn_question_ask": (c_int, [POINTER(attn_question_call), POINTER(c_void_p), c_void_p, POINTER(attn_error)]),
    "attn_question_picture": (c_int, [POINTER(attn_question_call), c_void_p, POINTER(attn_table_picture), POINTER(attn_error)]),
    "attn_question_schema": (POINTER(attn_column), [POINTER(attn_question_call), POINTER(c_char_p), POINTER(c_size_t)]),
    "attn_explain_args_init": (POINTER(attn_explain_args), [POINTER(attn_explain_args), c_size_t]),
    "attn_explainer_create": (c_int, [POINTER(attn_explain_args), POINTER(c_void_p), POINTER(attn_error)]),
    "attn_explainer_trace": (POINTER(attn_trace), [c_void_p]),
    "attn_explainer_finish": (c_int, [c_void_p, POINTER(POINTER(attn_explanation)), POINTER(attn_error)]),
    "attn_explainer_free": (None, [c_void_p]),
}


def declare(library):
    """Declares the functions of LIBRARY, a CDLL, and returns it."""
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library
