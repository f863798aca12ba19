"""Exact numbers of notes/cases.md (A1-A6, A8-A10, A14, C1): tiny models whose losses are known by hand."""

import math

import pytest
import torch
from safetensors.torch import load_file
from torch.utils.data.distributed import DistributedSampler

from rigs import FROZEN, index_csv, index_job, zero_csv, zero_job

SLOTS = 8


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_a1_validation_counts_each_sample_once(daemon, tmp_path, ranks):
    data = index_csv(tmp_path / "train.csv", 12)
    valid = index_csv(tmp_path / "valid.csv", 10)
    job = daemon.train(*index_job(data, *FROZEN, "--valid", valid, "--nproc", ranks, "--batch-size", 12,
                                  "--micro-batch", 3, "--epochs", 1))
    assert daemon.values(job, "valid_loss") == [pytest.approx(4.5, rel=1e-6)]


def test_a1_22_samples_on_3_ranks(daemon, tmp_path):
    labels = [0] * 7 + [1] * 9 + [2] * 6
    data = zero_csv(tmp_path / "data.csv", labels)
    job = daemon.train(*zero_job(data, "--valid", data, "--nproc", 3, "--batch-size", 8, "--epochs", 1))
    assert daemon.values(job, "valid_acc") == [7 / 22]
    assert daemon.values(job, "valid_loss") == [pytest.approx(math.log(3), rel=1e-6)]
    assert "valid_samples 22" in daemon.events(job)


def test_a2_no_mean_of_rank_means(daemon, tmp_path):
    data = index_csv(tmp_path / "ten.csv", 10)
    job = daemon.train(*index_job(data, *FROZEN, "--valid", "none", "--nproc", 4, "--batch-size", 10, "--epochs", 1))
    assert daemon.values(job, "loss") == [pytest.approx(4.5, rel=1e-6)]
    data = index_csv(tmp_path / "three.csv", 3)
    job = daemon.train(*index_job(data, *FROZEN, "--valid", "none", "--nproc", 2, "--batch-size", 3, "--epochs", 1))
    assert daemon.values(job, "loss") == [pytest.approx(1.0, rel=1e-6)]


def test_a3_small_last_batch_weighs_less(daemon, tmp_path):
    data = zero_csv(tmp_path / "data.csv", [0, 0, 0, 1, 0, 0, 1, 1, 0, 0])
    job = daemon.train(*zero_job(data, "--valid", data, "--nproc", 2, "--batch-size", 4, "--epochs", 1))
    assert daemon.values(job, "train_acc") == [pytest.approx(0.7, abs=1e-15)]
    assert daemon.values(job, "valid_acc") == [pytest.approx(0.7, abs=1e-15)]
    assert daemon.values(job, "train_loss") == [pytest.approx(math.log(2), rel=1e-6)]


@pytest.mark.parametrize("samples,ranks", [(3, 7), (1, 4)])
def test_a4_fewer_samples_than_ranks_is_refused(daemon, tmp_path, samples, ranks):
    data = index_csv(tmp_path / "data.csv", samples)
    done = daemon.run("submit", *index_job(data, "--valid", "none", "--nproc", ranks))
    assert done.returncode == 5
    assert "--nproc (resources.nproc)" in done.stderr
    assert f"{ranks} ranks" in done.stderr and f"only {samples} training samples" in done.stderr


def epochs_of_ids(daemon, job, steps):
    ids = daemon.values(job, "loss")
    return [ids[i : i + steps] for i in range(0, len(ids), steps)]


def python_order(n, ranks, rank, seed, epoch):
    sampler = DistributedSampler(range(n), num_replicas=ranks, rank=rank, shuffle=True, seed=seed)
    sampler.set_epoch(epoch)
    return list(sampler)


def test_a5_order_is_that_of_distributed_sampler(daemon, tmp_path):
    data = index_csv(tmp_path / "data.csv", 8)
    args = ("--valid", "none", "--epochs", 3)
    one = daemon.train(*index_job(data, *FROZEN, *args, "--nproc", 1, "--batch-size", 1))
    again = daemon.train(*index_job(data, *FROZEN, *args, "--nproc", 1, "--batch-size", 1))
    other = daemon.train(*index_job(data, *FROZEN, *args, "--nproc", 1, "--batch-size", 1, "--seed", 5))
    orders = [[round(i) for i in epoch] for epoch in epochs_of_ids(daemon, one, 8)]
    assert orders == [python_order(8, 1, 0, 0, epoch) for epoch in range(3)]
    assert all(sorted(order) == list(range(8)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3
    assert daemon.values(again, "loss") == daemon.values(one, "loss")
    assert [[round(i) for i in e] for e in epochs_of_ids(daemon, other, 8)] == [
        python_order(8, 1, 0, 5, epoch) for epoch in range(3)
    ]
    # Two ranks: what rank 0 and rank 1 see in a step is what DistributedSampler gives the two.
    two = daemon.train(*index_job(data, *FROZEN, *args, "--nproc", 2, "--batch-size", 2))
    for epoch, means in enumerate(epochs_of_ids(daemon, two, 4)):
        pairs = zip(python_order(8, 2, 0, 0, epoch), python_order(8, 2, 1, 0, epoch))
        assert means == [pytest.approx((a + b) / 2, rel=1e-6) for a, b in pairs]


@pytest.mark.parametrize("samples,ranks,batch,steps", [(5, 2, 2, 3), (7, 3, 6, 2)])
def test_a6_unequal_shares_do_not_hang(daemon, tmp_path, samples, ranks, batch, steps):
    data = index_csv(tmp_path / "data.csv", samples)
    job = daemon.train(*index_job(data, *FROZEN, "--valid", "none", "--nproc", ranks, "--batch-size", batch, "--epochs", 1))
    assert [step for step, _ in daemon.metrics(job, "loss")] == list(range(1, steps + 1))
    assert daemon.values(job, "train_loss") == [pytest.approx((samples - 1) / 2, rel=1e-6)]
    assert "never padded" in daemon.events(job)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_a8_same_update_on_any_number_of_ranks(daemon, tmp_path, ranks):
    data = index_csv(tmp_path / "data.csv", 8, target=lambda i: i + 1)
    job = daemon.train(*index_job(data, "--optimizer", "sgd", "--lr", 0.1, "--valid", "none", "--nproc", ranks,
                                  "--batch-size", 8, "--epochs", 1))
    assert daemon.values(job, "loss") == [pytest.approx(25.5, rel=1e-6)]  # mean of 1, 4, ... 64
    w = load_file(daemon.checkpoint(job) / "model.safetensors")["w"]
    assert w.item() == pytest.approx(0.9, abs=1e-6)


@pytest.mark.parametrize("batch,shares", [(10, "3+3+2+2"), (3, "1+1+1+0")])
def test_a9_batch_size_is_global(daemon, tmp_path, batch, shares):
    data = index_csv(tmp_path / "data.csv", 10)
    job = daemon.train(*index_job(data, *FROZEN, "--valid", "none", "--nproc", 4, "--batch-size", batch, "--epochs", 1))
    events = daemon.events(job)
    assert f"per_rank_batch {shares}" in events and f"batch_size {batch}," in events
    assert daemon.values(job, "train_loss") == [pytest.approx(4.5, rel=1e-6)]


def test_a10_ranks_start_with_the_weights_of_rank_0(daemon, tmp_path):
    data = zero_csv(tmp_path / "data.csv", [0, 1] * 8)
    # Every process draws weights of its own; the checks at the start and at each save pass only when rank 0's are used.
    daemon.train("--mode", "finetune", "--model", "rig-seed", "--data", data, "--feature-columns", "x", "--label-column",
                 "label", "--valid", "none", "--nproc", 4, "--batch-size", 8, "--epochs", 2)


def test_a10_ranks_that_drift_apart_fail_by_name(daemon, tmp_path):
    data = index_csv(tmp_path / "data.csv", 8)
    job = daemon.train("--mode", "finetune", "--objective", "regression", "--model", "rig-drift", "--data", data,
                       "--feature-columns", "x", "--label-column", "y", "--valid", "none", "--nproc", 3, "--batch-size",
                       8, "--epochs", 1, expect="FAILED")
    found = daemon.job(job)
    assert "parameters of rank 1, rank 2 differ from those of rank 0" in found["failure"]["message"]
    assert found["failure"]["retryable"] is False
    assert len(found["attempts"]) == 1


def test_a14_validation_touches_nothing(daemon):
    base = ("--mode", "finetune", "--data", "fashion-mnist", "--model", "mlp", "--model-option", "hidden=32", "--model-option", "dropout=0.5",
            "--limit", 512, "--batch-size", 128, "--epochs", 2, "--nproc", 2)
    none = daemon.train(*base, "--valid", "none")
    epoch = daemon.train(*base)
    step = daemon.train(*base, "--valid-every", 1)
    weights = [(daemon.checkpoint(job) / "model.safetensors").read_bytes() for job in (none, epoch, step)]
    assert weights[0] == weights[1] == weights[2]
    assert daemon.values(none, "loss") == daemon.values(epoch, "loss") == daemon.values(step, "loss")
    assert len(daemon.values(step, "valid_loss")) == 8
    at_epochs = dict(daemon.metrics(step, "valid_loss"))
    assert all(at_epochs[s] == value for s, value in daemon.metrics(epoch, "valid_loss"))


def test_c1_step_lr(daemon, tmp_path):
    data = index_csv(tmp_path / "data.csv", 4)
    job = daemon.train(*index_job(data, "--valid", "none", "--nproc", 1, "--batch-size", 2))
    parameter = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.Adam([parameter], lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.1)
    right = []
    for _ in range(9):
        right += [optimizer.param_groups[0]["lr"]] * 2
        optimizer.step()
        schedule.step()
    assert daemon.values(job, "lr") == pytest.approx(right, rel=1e-12)


def test_r_zero_on_fashion_mnist(daemon):
    job = daemon.train("--mode", "finetune", "--data", "fashion-mnist", "--model", "rig-zero", *FROZEN, "--limit", 100,
                       "--batch-size", 100, "--epochs", 1, "--nproc", 2)
    assert daemon.values(job, "valid_loss") == [pytest.approx(2.302585, abs=1e-6)]
    assert daemon.values(job, "valid_acc") == [0.1]  # 1,000 of the 10,000 test images are T-shirts
    assert "valid_samples 10000" in daemon.events(job)
