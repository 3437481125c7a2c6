// Preloaded into a gateway: shifts its wall clock by CLOCK_SHIFT_MS, and at SIGWINCH by CLOCK_JUMP_MS, or back. Its
// monotonic clock stays as it is.
const readClock = Date.now
let shifts = [Number(process.env['CLOCK_SHIFT_MS']), Number(process.env['CLOCK_JUMP_MS'])]
process.on('SIGWINCH', () => (shifts = shifts.toReversed()))
const now = (): number => readClock() + (shifts[0] as number)

globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
})
