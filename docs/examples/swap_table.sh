# Puts a table into the place of another, under its name, which it cannot get otherwise; docs/recovery.md.
#
# - sh swap_table.sh PLACE TABLE: if the table in that place is empty
# - sh swap_table.sh PLACE TABLE with-items: though it has items; it is backed up, too
# - sh swap_table.sh PLACE: only deletes it, if it is empty
#
# It deletes the table in that place after the backup of TABLE is available, and restores the backup there. TABLE and
# the backups, whose ARNs it prints, stay. After an error or Ctrl-C run it again: it goes on, and never deletes what
# came from TABLE. It needs the variables of docs/on-call.md, `ticketctl`, and a stopped worker.

set -eu
export AWS_PAGER=
[ $# = 1 ] || : "${2:?a variable with the name of a table is empty}"
place=${1:?a variable with the name of a table is empty} table=${2-} items=${3-}
table=${table##*/}

# So begins the name of a restored table whose variable is not set in this shell.
case $table in -*) echo "$table is no table: set the variable before it" >&2 && exit 1 ;; esac

# Each mapping that invokes the function counts, of any queue, and all that is in flight.
state=$(ticketctl status) || : # Status 3: a service that it does not need here, or the worker's state is unknown.
echo "$state" | grep -q '^the worker is stopped: ' || { echo "first stop the worker: ticketctl stop" >&2 && exit 1; }

# An error is none of the table: it must not look as if nothing were there.
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
