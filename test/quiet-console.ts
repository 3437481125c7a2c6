// Drops what gateways in the process of a test print on the console channel. Tests read it from the channel's file.

/** Call it once in a process. */
export function silenceConsoleChannel(): void {
  const write = process.stdout.write.bind(process.stdout)
  process.stdout.write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
    if (typeof text !== 'string' || !text.startsWith('[console] '))
      return Reflect.apply(write, undefined, [text, ...rest])
    const done = rest.at(-1)
    if (typeof done === 'function') done()
    return true
  }
}
