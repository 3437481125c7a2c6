// One-time codes that sign a browser tab in: the link that `start` prints contains one.
import { randomBytes } from 'node:crypto'

export interface SignInCodes {
  /** Creates a code. It is valid for one use within five minutes. */
  issue(): string
  /** Returns whether the code is valid. From then on it is not. */
  redeem(code: string): boolean
  /** Why a code is not valid. */
  explain(code: string): string
}

const used = 'The link was used already, or is older than five minutes. Enter the credential, or get a new link.'
const foreign =
  'The link was made by another gateway, or before this one was started, and works only there. Enter the credential, ' +
  'or get a new link.'

const validMs = 5 * 60_000

/** More codes than this are never valid at once: the oldest ones are dropped. */
const maxCodes = 100

/** @param now monotonic milliseconds */
export function createSignInCodes(now: () => number = () => performance.now()): SignInCodes {
  const expiries = new Map<string, number>()
  /** Begins each code, so that one of another gateway on the same store is recognized. */
  const issuer = `${randomBytes(6).toString('base64url')}.`

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
      const code = issuer + randomBytes(32).toString('base64url')
      expiries.set(code, now() + validMs)
      return code
    },
    redeem: (code) => {
      const expiry = expiries.get(code)
      expiries.delete(code)
      return expiry !== undefined && now() < expiry
    },
    explain: (code) => (code.startsWith(issuer) ? used : foreign),
  }
}
