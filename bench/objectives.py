"""What pretraining brings: valid accuracy on wordnet:noun (26 classes, 8,211 held-out samples) after finetuning on 5,000
labels, from scratch and after each pretraining objective, at equal settings (DESIGN 5).

objectives.py [name ...]    (default: all rows of ROWS)
"""

import sys

import common

DATA = ("--data", "wordnet:noun")
FINETUNE = ("--mode", "finetune", *DATA, "--limit", 5000, "--batch-size", 256, "--epochs", 6)
STEP = ("--step-size", 4)
PRETRAIN = ("--mode", "pretrain", *DATA)
COSINE = ("--schedule", "cosine", "--warmup", 50)

# name: (pretraining or None, finetuning). 4 epochs of pretraining at the most.
ROWS = {
    "scratch": (None, STEP),
    "mlm": (("--batch-size", 512, "--epochs", 4, "--schedule", "constant"), STEP),
    "embedding": (("--objective", "embedding", "--batch-size", 512, "--epochs", 4, "--schedule", "constant"), STEP),
    "gpt scratch": (None, ("--model", "gpt", *STEP)),
    "clm": (("--objective", "clm", "--model", "gpt", "--batch-size", 512, "--epochs", 4, "--schedule", "constant"), STEP),
    "mlm tuned": (("--batch-size", 512, "--epochs", 4, "--lr", 2e-3, *COSINE), ("--lr", 2e-3, "--schedule", "cosine", "--warmup", 12)),
    "scratch tuned": (None, ("--lr", 2e-3, "--schedule", "cosine", "--warmup", 12)),
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
            print(f"{name:<14} after 1 epoch {accuracies[0]:.4f}   after {len(accuracies)} {accuracies[-1]:.4f}{text}", flush=True)


main()
