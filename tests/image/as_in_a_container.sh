# Runs a command as in a container with a read-only root: /tmp and the state folder can be written,
# nothing else, by the image's user without any capability. In a mount namespace of its own:
#   as_in_a_container.sh ROOT CLIPS COMMAND...
root="$1"
clips="$2"
shift 2
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t tmpfs -o mode=0750,uid=10001,gid=10001 tmpfs "$root/var/lib/platestream"
mount --bind "$clips" "$root/camera-files"
mount -o remount,bind,ro "$root/camera-files"
exec chroot --userspec=10001:10001 --groups=10001 "$root" "$@"
