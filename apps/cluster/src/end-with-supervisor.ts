// Loaded into a stage's process before the stage itself: its supervisor may be killed, and must leave no process.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The supervisor's wish to speak is no reason to stay.
process.channel?.unref();
