// Ctrl-C and SIGTERM, for all commands that end in their own way.

const signals = ['SIGINT', 'SIGTERM'] as const

/** Calls `stop` at the first signal. A second one has its usual effect: it ends the process at once. */
export function onInterrupt(stop: (signal: NodeJS.Signals) => void): Disposable {
  const release = (): void => signals.forEach((signal) => void process.off(signal, listener))
  function listener(signal: NodeJS.Signals): void {
    release()
    stop(signal)
  }
  for (const signal of signals) process.on(signal, listener)
  return { [Symbol.dispose]: release }
}
