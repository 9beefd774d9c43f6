// Loaded into a stage's process before the stage itself, so that the process ends if its supervisor is killed.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The channel to the supervisor must not keep the process alive.
process.channel?.unref();
