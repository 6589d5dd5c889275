from django.conf import settings
from django.db import migrations, models

from accounts.audit_chain import UNSEALED, seal_of_pruned, digest_of


def sign_what_is_there(apps, schema_editor):
    """What was pruned, and written and not sealed yet, by a version that did not sign it."""
    for chain in apps.get_model("accounts", "AuditChain").objects.exclude(pruned_sequence=0):
        chain.pruned_seal = seal_of_pruned(chain, settings.SECRET_KEY)
        chain.save(update_fields=["pruned_seal"])
    for entry in apps.get_model("accounts", "AuditEntry").objects.filter(sequence=None):
        entry.digest = digest_of(entry, *UNSEALED, settings.SECRET_KEY)
        entry.save(update_fields=["digest"])


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_temporary_passwords_expire'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditchain',
            name='pruned_seal',
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.RunPython(sign_what_is_there, migrations.RunPython.noop),
    ]
