"""What one user says to the app in one conversation: new tools, known ones, and plain questions."""

from app.demo.tasks import BALANCE, CONVERT, FIND_PARCEL, MEASURE, TASKS, TRACK_PARCEL, Task

_ONE, _IN_A_ROW, _AT_ONCE = TASKS

DIALOGUE = (
    _ONE,
    Task(
        "the same tool again",
        "And what is the balance of ledger account 1200?",
        ((BALANCE.of(account="1200"),),),
    ),
    Task(
        "a plain question",
        "What does SO stand for in our order numbers?",
        words="SO stands for sales order.",
    ),
    _AT_ONCE,
    _IN_A_ROW,
    Task(
        "another plain question",
        "Thank you. Which currency does JPY mean?",
        words="JPY means the Japanese yen.",
    ),
    Task(
        "the first tool once more",
        "Please compare that with the balance of ledger account 8400.",
        ((BALANCE.of(account="8400"),),),
    ),
    Task(
        "both at once again",
        "How much is 80 EUR in SEK, and how many words does note N-3 have?",
        ((CONVERT.of(amount=80, target="SEK"), MEASURE.of(note="N-3")),),
    ),
    Task(
        "both in a row again",
        "And where is the parcel for sales order SO-1045?",
        ((FIND_PARCEL.of(order="SO-1045"),), (TRACK_PARCEL,)),
    ),
)
