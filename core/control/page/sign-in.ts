// One-time codes that sign a browser tab in: the link that `start` prints contains one.
import { randomBytes } from 'node:crypto'

export interface SignInCodes {
  /** Creates a code. It is valid for one use within five minutes. */
  issue(): string
  /** Returns whether the code is valid. From then on it is not. */
  redeem(code: string): boolean
}

const validMs = 5 * 60_000

/** More codes than this are never valid at once: the oldest ones are dropped. */
const maxCodes = 100

/** @param now monotonic milliseconds */
export function createSignInCodes(now: () => number = () => performance.now()): SignInCodes {
  const expiries = new Map<string, number>()

  function dropOld(): void {
    const codes = [...expiries]
    codes.forEach(([code, expiry], index) => {
      if (expiry <= now() || index <= codes.length - maxCodes) expiries.delete(code)
    })
  }

  return {
    issue: () => {
      dropOld()
      // A code is as random as a key, so it is looked up without comparing it in constant time.
      const code = randomBytes(32).toString('base64url')
      expiries.set(code, now() + validMs)
      return code
    },
    redeem: (code) => {
      const expiry = expiries.get(code)
      expiries.delete(code)
      return expiry !== undefined && now() < expiry
    },
  }
}
