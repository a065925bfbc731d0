# What comes next needs the subject, not the nearest noun; what "it" was; who did not give; what was
# said before.
next() { attn-cli run -q -m "$MODELS/fable" --top 1 "$1" | cut -f 3; }
next "The keys to the cabinet"
next "The chicken didn't cross the road because it was too tired. The tired one was the"
next "The chicken didn't cross the road because it was too wide. The wide one was the"
next "When Mary and John went to the store, John gave a drink to"
next "When Mary and John went to the store, Mary gave a drink to"
next "Mary gave the ball to John because he was kind. The kind one was"
next "One red wolf cup table Tom hat One red wolf cup"
next "The box (with the cup [the red one"
