// Preloaded into a gateway: shifts its wall clock by CLOCK_SHIFT_MS. Its monotonic clock stays as it is.
const readClock = Date.now
const now = (): number => readClock() + Number(process.env['CLOCK_SHIFT_MS'])

globalThis.Date = new Proxy(Date, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget) as Date,
  get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
})
