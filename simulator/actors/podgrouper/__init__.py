"""KAI's podgrouper: pods → PodGroups by their chain of owners (kai-scheduler.md §3, golden/grove/podgrouper-p*)."""
