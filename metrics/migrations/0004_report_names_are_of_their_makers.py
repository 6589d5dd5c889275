from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('metrics', '0003_rounds_of_large_clusters'),
    ]

    operations = [
        migrations.AlterField(
            model_name='report',
            name='name',
            field=models.CharField(max_length=100),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.UniqueConstraint(fields=('created_by', 'name'), name='report_once_per_person'),
        ),
    ]
