"""The Dynamo operator: DynamoGraphDeployment (both versions) → PodCliqueSet and Services (dynamo.md §2–4)."""
