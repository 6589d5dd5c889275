"""dcgm-exporter's text, as it publishes it, becomes readings."""

import pytest

from metrics.exposition import GpuReading, NotExposition, Owner, merge_readings, read_exposition

GPU0 = 'gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="n1"'
POD = 'container="main",namespace="runai-a",pod="qwen-0-decode-x"'


def test_percent_memory_temperature_and_owner_are_read() -> None:
    text = f"""\
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{{{GPU0},{POD}}} 83
DCGM_FI_DEV_GPU_TEMP{{{GPU0},{POD}}} 61
DCGM_FI_DEV_FB_FREE{{{GPU0},{POD}}} 20000
DCGM_FI_DEV_FB_USED{{{GPU0},{POD}}} 60000
DCGM_FI_DEV_SM_CLOCK{{{GPU0},{POD}}} 1980
"""
    (gpu,) = read_exposition(text)

    assert gpu == GpuReading(
        index=0,
        model="NVIDIA H100 80GB HBM3",
        utilisation=83.0,
        memory=75.0,
        temperature=61.0,
        owner=Owner("runai-a", "qwen-0-decode-x"),
    )


def test_54_the_ratio_stands_in_for_the_percentage() -> None:
    (gpu,) = read_exposition(f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{GPU0}}} 0.41\n")

    assert gpu.utilisation == pytest.approx(41)


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "4294967295"])
def test_58_what_is_no_percentage_is_not_measured(value: str) -> None:
    (gpu,) = read_exposition(f"DCGM_FI_DEV_GPU_UTIL{{{GPU0}}} {value}\n")

    assert gpu.utilisation is None


def test_58_a_missing_metric_is_not_measured_and_zero_is_zero() -> None:
    assert read_exposition(f"DCGM_FI_DEV_GPU_TEMP{{{GPU0}}} 40\n")[0].utilisation is None
    assert read_exposition(f"DCGM_FI_DEV_GPU_UTIL{{{GPU0}}} 0\n")[0].utilisation == 0


def test_55_mig_series_without_pod_are_unattributed_and_not_dropped() -> None:
    one = f'{GPU0},GPU_I_PROFILE="1g.10gb",GPU_I_ID="7"'
    three = f'{GPU0},GPU_I_PROFILE="3g.40gb",GPU_I_ID="2",{POD}'

    (gpu,) = read_exposition(
        f"DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{one}}} 0.7\nDCGM_FI_PROF_GR_ENGINE_ACTIVE{{{three}}} 0.35\n"
    )

    assert [(part.instance, part.profile, part.owner) for part in gpu.mig] == [
        ("2", "3g.40gb", Owner("runai-a", "qwen-0-decode-x")),
        ("7", "1g.10gb", None),
    ]


def test_56_seven_mig_instances_are_one_gpu_weighted_by_slices() -> None:
    lines = [
        f'DCGM_FI_PROF_GR_ENGINE_ACTIVE{{{GPU0},GPU_I_PROFILE="1g.10gb",GPU_I_ID="{i}"}} {1 if i < 2 else 0}'
        for i in range(7)
    ]

    gpus = read_exposition("\n".join(lines) + "\n")

    assert len(gpus) == 1
    assert gpus[0].utilisation == pytest.approx(200 / 7)


def test_63_a_gpu_that_two_exporters_report_counts_once() -> None:
    first, second = GpuReading(0, utilisation=None), GpuReading(0, utilisation=12.0)

    assert merge_readings([first, second, GpuReading(1)]) == (second, GpuReading(1))


def test_an_answer_that_is_no_exposition_says_so() -> None:
    with pytest.raises(NotExposition):
        read_exposition("<html>login</html>")
    with pytest.raises(NotExposition):
        read_exposition(f"DCGM_FI_DEV_GPU_UTIL{{{GPU0}}} many\n")


def test_an_exporter_without_gpus_is_empty() -> None:
    assert read_exposition("# HELP nothing\n") == ()
