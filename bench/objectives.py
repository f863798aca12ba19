"""What pretraining brings: valid accuracy on wordnet:noun (26 classes, 8,211 held-out samples) after finetuning on 5,000
labels, from scratch and after each pretraining objective, at equal settings (DESIGN 5).

objectives.py [name ...]    (default: all rows of ROWS)
"""

import sys

import common

DATA = ("--data", "wordnet:noun")
FINETUNE = ("--mode", "finetune", *DATA, "--limit", 5000, "--epochs", 6)
PRETRAIN = ("--mode", "pretrain", *DATA, "--epochs", 4)

# DESIGN's settings.
BEFORE = ("--batch-size", 512, "--schedule", "constant")
AFTER = ("--batch-size", 256, "--step-size", 4)
# The same number of samples in more and smaller steps.
SMALL_BEFORE = ("--batch-size", 128, "--lr", 2e-3, "--schedule", "cosine", "--warmup", 100)
SMALL_AFTER = ("--batch-size", 64, "--schedule", "cosine", "--warmup", 20)
GPT = ("--model", "gpt")

# name: (pretraining or None, finetuning)
ROWS = {
    "scratch": (None, AFTER),
    "mlm": (BEFORE, AFTER),
    "embedding": (("--objective", "embedding", *BEFORE), AFTER),
    "gpt scratch": (None, (*GPT, *AFTER)),
    "clm": (("--objective", "clm", *GPT, *BEFORE), AFTER),
    "scratch small": (None, SMALL_AFTER),
    "mlm small": (SMALL_BEFORE, SMALL_AFTER),
    "embedding small": (("--objective", "embedding", *SMALL_BEFORE), SMALL_AFTER),
    "gpt scratch small": (None, (*GPT, *SMALL_AFTER)),
    "clm small": (("--objective", "clm", *GPT, *SMALL_BEFORE), SMALL_AFTER),
}


def main():
    names = sys.argv[1:] or list(ROWS)
    with common.Ddpd() as daemon:
        for name in names:
            pretrain, finetune = ROWS[name]
            start = ()
            text = ""
            if pretrain is not None:
                parent = daemon.train(*PRETRAIN, *pretrain)
                start = ("--init-from", parent)
                text = f"   pretraining: valid loss {daemon.values(parent, 'valid_loss')[-1]:.4f}"
            job = daemon.train(*FINETUNE, *finetune, *start)
            accuracies = daemon.values(job, "valid_acc")
            print(f"{name:<18} after 1 epoch {accuracies[0]:.4f}   after {len(accuracies)} {accuracies[-1]:.4f}{text}", flush=True)


main()
