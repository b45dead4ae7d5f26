# Replaces a table with another under its name, because DynamoDB cannot rename a table; docs/recovery.md.
#
# - sh swap_table.sh NAME TABLE: replaces the empty table NAME
# - sh swap_table.sh NAME TABLE with-items: replaces it also with items, after a backup
# - sh swap_table.sh NAME: only deletes the empty table NAME
#
# It deletes the table NAME after the backup of TABLE is available, and restores the backup under NAME. It prints the
# ARNs of the backups, and keeps them and TABLE. After an error or Ctrl-C run it again: it continues, and never deletes
# a table that it restored from TABLE. It needs the variables of docs/on-call.md, `ticketctl`, and a stopped worker.

set -eu
export AWS_PAGER=
[ $# = 1 ] || : "${2:?a variable with the name of a table is empty}"
place=${1:?a variable with the name of a table is empty} table=${2-} items=${3-}
table=${table##*/}

# The name of a restored table begins with a hyphen if its variable is not set in this shell.
case $table in -*) echo "$table is no table: set the variable before it" >&2 && exit 1 ;; esac

# Each mapping of the function counts, of any queue, and every message in flight.
state=$(ticketctl status) || : # Status 3: a service that it does not need here, or the worker's state is unknown.
echo "$state" | grep -q '^the worker is stopped: ' || { echo "first stop the worker: ticketctl stop" >&2 && exit 1; }

# Any other error must not look as if the table did not exist.
look() {
    found=$(aws dynamodb describe-table --table-name "$place" --query "Table.$1" --output text 2>&1) ||
        case $found in
            *ResourceNotFoundException*) found= ;;
            *) echo "$found" >&2 && exit 1 ;;
        esac
}

back_up() {
    backup=$(aws dynamodb create-backup --table-name "$1" --backup-name "$1" --query BackupDetails.BackupArn --output text)
    echo "$backup"
    until aws dynamodb describe-backup --backup-arn "$backup" --query BackupDescription.BackupDetails.BackupStatus --output text | grep -qx AVAILABLE; do sleep 10; done
}

look RestoreSummary.SourceTableArn
if [ -z "$table" ] || [ "${found##*/}" != "$table" ]; then
    look TableStatus
    if [ -n "$found" ] && [ "$found" != DELETING ]; then
        if [ "$items" = with-items ]; then
            back_up "$place"
        else
            count=$(aws dynamodb scan --table-name "$place" --consistent-read --select COUNT --limit 1 --query Count --output text)
            [ "$count" = 0 ] || { echo "$place is not empty: it stays" >&2 && exit 1; }
        fi
    fi
    [ -z "$table" ] || back_up "$table"
    if [ -n "$found" ] && [ "$found" != DELETING ]; then
        aws dynamodb update-table --table-name "$place" --no-deletion-protection-enabled > /dev/null
        # Until the update has ended, nothing can be deleted.
        aws dynamodb wait table-exists --table-name "$place"
        aws dynamodb delete-table --table-name "$place" > /dev/null
    fi
    # It gives up after 8 minutes.
    aws dynamodb wait table-not-exists --table-name "$place"
    [ -n "$table" ] || { echo "$place is deleted" && exit 0; }
    aws dynamodb restore-table-from-backup --target-table-name "$place" --backup-arn "$backup" > /dev/null
fi
until aws dynamodb describe-table --table-name "$place" --query Table.TableStatus --output text | grep -qx ACTIVE; do sleep 10; done
echo "$table is in the place of $place"
