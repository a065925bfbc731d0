shown() { attn-cli run -m tiny-gpt2 --attention lowrank:3:5 --mask none --heads 2.0 --compare "$@" "The kettle was on"; }
shown | sed '/^seconds/d'
shown --csv -
shown --json - | grep -c '"tv": null, "tv_most": null'
