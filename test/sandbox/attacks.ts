// Attacks on the sandbox, as JavaScript function bodies. An attack that escapes returns ESCAPED; one that only consumes
// resources must be stopped.

/** Code for transforms: reaching any of these globals is an escape. */
const reach = `const reach = (global) => [
  'process', 'require', 'fetch', 'Buffer', 'WebAssembly', 'SharedArrayBuffer', 'Atomics', 'setTimeout',
  'queueMicrotask', 'Worker', 'performance', 'crypto', 'navigator', 'structuredClone'
].filter((name) => { try { return global[name] !== undefined } catch { return false } });`

const escape = (code: string): string => `${reach} ${code}`
const verdict = `found.length > 0 ? { message: 'ESCAPED ' + found } : { message: 'contained' }`

/** Attacks that only a time limit can stop. It may be short. */
export const endless: Record<string, string> = {
  'a thrown getter that never ends': `throw { get message() { for (;;); }, get name() { for (;;); } }`,
  'an error whose message never ends': `const e = new Error();
    Object.defineProperty(e, 'message', { get() { for (;;); } }); throw e`,
  'a toJSON that never ends': `return { toJSON() { for (;;); } }`,
  'a then that never ends': `return { get then() { for (;;); } }`,
  'an endless loop': `for (;;);`,
  'an endless chain of promises': `const f = () => Promise.resolve().then(f); return f()`,
  'a chain of promises left behind': `const f = () => Promise.resolve().then(f); f(); return { message: 'late' }`,
  'an async function that never ends': `return (async () => { for (;;) await null })()`,
  'an endless generator': `return { message: [...(function* () { for (;;) yield 1 })()].length }`,
  'a sort that never ends': `return { message: String([1, 2, 3].sort(() => { for (;;); })) }`,
  'backtracking of a regular expression': `return { message: String(/^(a+)+$/.test('a'.repeat(40) + 'b')) }`,
}

export const attacks: Record<string, string> = {
  // Ways to the global object and to Function
  'the constructor of a function': escape(`const found = reach(reach.constructor('return this')());
    return ${verdict}`),
  'the constructor of an async function': escape(
    `const F = (async () => {}).constructor; let found = []; const g = F('return this'); g()
    .then((x) => { found = reach(x ?? {}) }); return ${verdict}`,
  ),
  'the constructor of a generator': escape(
    `const g = (function* () {}).constructor('yield this')().next().value ?? {}; const found = reach(g);
    return ${verdict}`,
  ),
  'the constructor chain of console': escape(
    `const found = reach(console.log.constructor.constructor('return this')()); return ${verdict}`,
  ),
  'the constructor chain of the input': escape(
    `const found = reach(input.constructor.constructor('return this')()); return ${verdict}`,
  ),
  'the constructor chain of the payload': escape(
    `const found = reach(input.payload.list.constructor.constructor('return globalThis')()); return ${verdict}`,
  ),
  'the constructor chain of Date': escape(`const found = reach(Date.constructor('return this')());
    return ${verdict}`),
  'the constructor chain of Intl': escape(
    `const found = reach(Intl.NumberFormat.constructor('return this')()); return ${verdict}`,
  ),
  'indirect eval': escape(`const found = reach((0, eval)('this')); return ${verdict}`),
  'the global of sloppy code': escape(
    `const found = reach(new Function('return (function () { return this })()')() ?? {}); return ${verdict}`,
  ),
  'global names': escape(`const found = reach(globalThis); return ${verdict}`),
  'free names': `return typeof process !== 'undefined' || typeof require !== 'undefined'
      || typeof module !== 'undefined' ? { message: 'ESCAPED' } : { message: 'contained' }`,
  'the globals of the runner': `return typeof lockdown === 'function' || typeof Compartment === 'function'
      ? { message: 'ESCAPED' } : { message: 'contained' }`,
  // Loading
  'a dynamic import in evaluated code': `try { const p = (0, eval)(['im', 'port("node:fs")'].join(''));
    return p.then(() => ({ message: 'ESCAPED' }), () => ({ message: 'contained' })) } catch {
      return { message: 'contained' } }`,
  'a dynamic import with an odd spelling': `try {
    const p = new Function(['return im', 'port/**/("node:fs")'].join(''))();
    return p.then(() => ({ message: 'ESCAPED' }), () => ({ message: 'contained' }))
  } catch { return { message: 'contained' } }`,
  'a dynamic import with a line break': `try { const p = (0, eval)(['im', 'port\\n("node:fs")'].join(''));
    return p.then(() => ({ message: 'ESCAPED' }), () => ({ message: 'contained' })) } catch {
      return { message: 'contained' } }`,
  'a compartment of its own': escape(
    `const found = typeof Compartment === 'undefined' ? [] : ['Compartment']; return ${verdict}`,
  ),
  // Errors of the engine
  'the error of a stack overflow': escape(
    `let e; const f = () => f(); try { f() }
    catch (error) { e = error } const found = reach(e.constructor.constructor('return this')()); return ${verdict}`,
  ),
  'the error of JSON.parse': escape(
    `let e; try { JSON.parse('{') }
    catch (error) { e = error } const found = reach(e.constructor.constructor('return this')()); return ${verdict}`,
  ),
  'call sites of a stack': escape(
    `Error.prepareStackTrace = (_, sites) => sites; const s = new Error().stack;
    const found = Array.isArray(s) ? reach(s[0].getThis?.() ?? {}) : []; return ${verdict}`,
  ),
  'captureStackTrace with a getter': `try { const o = {}; Error.captureStackTrace(o);
    return typeof o.stack === 'string' && /node:|runner|file:/.test(o.stack)
      ? { message: 'ESCAPED' } : { message: 'contained' } } catch { return { message: 'contained' } }`,
  'paths in a stack': `const s = String(new Error().stack) + String((() => { try { null.x } catch (e) {
    return e.stack } })()); return /node:|runner|file:|\\//.test(s)
      ? { message: 'ESCAPED ' + s } : { message: 'contained' }`,
  // Changes that affect other transforms
  'a poisoned Object.prototype': `try { Object.prototype.polluted = 'ESCAPED' } catch {}
    try { ({}).constructor.prototype.polluted = 'ESCAPED' } catch {}
      return { message: ({}).polluted ?? 'contained' }`,
  'a poisoned Array.prototype': `try { Array.prototype.map = () => ['ESCAPED'] } catch {}
    return { message: [1].map(String)[0] === '1' ? 'contained' : 'ESCAPED' }`,
  'a poisoned JSON': `try { JSON.stringify = () => '{"message":"ESCAPED"}' } catch {}
    return { message: 'contained' }`,
  'a poisoned JSON.parse': `try { JSON.parse = () => ({ message: 'ESCAPED' }) } catch {}
    return { message: 'contained' }`,
  'a poisoned Promise': `try { Promise.prototype.then = () => 'ESCAPED' } catch {}
    return Promise.resolve({ message: 'contained' })`,
  'a poisoned clock': `try { Date.now = () => 42 } catch {} try { Date.prototype.getTime = () => 42 }
    catch {} try { Math.random = () => 4 } catch {} return { message: Date.now() === 42
      || Math.random() === 4 ? 'ESCAPED' : 'contained' }`,
  'poisoned typed arrays': `for (const A of [Float32Array, Float64Array, Uint8Array]) {
    try { A.from = () => 'ESCAPED' } catch {} try { A.prototype.set = () => 'ESCAPED' } catch {} }
      return { message: Uint8Array.from([1]) === 'ESCAPED'
      || Float64Array.from([1]) === 'ESCAPED' ? 'ESCAPED' : 'contained' }`,
  'poisoned Intl': `try { Intl.DateTimeFormat.prototype.format = () => 'ESCAPED' } catch {}
    try { Intl.NumberFormat = 'ESCAPED' } catch {}
      return { message: Intl.NumberFormat === 'ESCAPED' ? 'ESCAPED' : 'contained' }`,
  'a poisoned console': `try { console.log = () => 'ESCAPED' } catch {}
    return { message: console.log('x') ?? 'contained' }`,
  'a __proto__ in the result': `return JSON.parse('{"__proto__":{"polluted":"ESCAPED"},"message":"contained"}')`,
  'a changed input': `try { input.payload.list.push('ESCAPED') } catch {}
    try { input.mapping.id = 'ESCAPED' } catch {} return { message: String(input.payload.list[2] ?? 'contained') }`,
  // Values that are hostile when they are read
  'a thrown proxy': `throw new Proxy({}, { get() { throw 1 }, getPrototypeOf() { throw 2 }, ownKeys() { throw 3 } })`,
  'a proxy as the result': `return new Proxy({}, {
    ownKeys: () => ['message'],
    getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
    get: () => 'x',
  })`,
  'a toJSON that lies': `return { toJSON: () => 5 }`,
  'a then that settles often': `return { then(yes, no) { yes({ message: 'contained' }); no(new Error('no'));
    yes({ message: 'ESCAPED' }); throw 1 } }`,
  'a cycle as the result': `const o = {}; o.message = o; return o`,
  'a BigInt as the result': `return { message: 5n }`,
  'a console full of proxies': `console.log(new Proxy({}, { get() { throw 1 } }), Symbol('x'), 5n,
    () => 1, { toJSON() { throw 1 } }); return { message: 'contained' }`,
  'a promise that never settles': `return new Promise(() => {})`,
  // Memory
  'a string bomb': `let s = 'x'; for (;;) s += s`,
  'a spread bomb': `return { message: String([...'.'.repeat(5e8)].length) }`,
  'an array bomb': `const a = []; for (;;) a.push(new Array(1e5).fill({}))`,
  'a buffer bomb': `const a = []; for (;;) a.push(new Uint8Array(5e7).fill(1))`,
  'a sparse array as text': `return { message: new Array(1e9) + '' }`,
  'a BigInt bomb': `let n = 7n; for (;;) n *= n`,
  'a split bomb': `return { message: String('a,'.repeat(6e7).split(',').length) }`,
  'a large sort': `return { message: String(Array.from({ length: 2e7 }, () => Math.random()).sort().length) }`,
  'a result of 300 MB': `return { message: 'x'.repeat(3e8) }`,
  'a result of many fields': `return Object.fromEntries(Array.from(
      { length: 2e5 }, (_, i) => ['k' + i, 'x'.repeat(50)]))`,
  'a flood of lines': `for (let i = 0; i < 1e5; i++) console.log('y'.repeat(1e4)); return { message: 'contained' }`,
  // Recursion
  'a deep recursion': `const f = (n) => f(n + 1) + 1; return { message: String(f(0)) }`,
  'a deep result': `let o = { message: 'x' }; for (let i = 0; i < 1e6; i++) o = { o }; return o`,
  'a deep recursion inside a comparison': `const f = () => [3, 2, 1].sort(() => f());
    return { message: String(f()) }`,
  // Effects that remain
  'a rejection left behind': `Promise.reject(new Error('ESCAPED')); return { message: 'contained' }`,
  'a change of the exports': `try { globalThis.__transform = { default: () => ({ message: 'ESCAPED' }) } }
    catch {} return { message: 'contained' }`,
  ...endless,
}
