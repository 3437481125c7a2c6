// The built-in schemes, and the functions of the core that verify and sign with them.
import { hookAuthRules as checkAuth } from '../../core/config/rules/hook-auth.ts'
import { type HookAuth, hookAuthSchema } from '../../core/config/schema/hook-auth.ts'
import type { Schemes } from '../../core/config/schemes.ts'
import { signRequest as sign } from '../../core/hooks/auth/sign-request.ts'
import { createVerifier as create } from '../../core/hooks/auth/verify-signature.ts'
import { loadBuiltins } from '../../core/loader/registry.ts'
import type { OutgoingRequest } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'

export const schemes: Schemes = (await loadBuiltins()).schemes
export const hookSchemes: string[] = [...schemes.keys()]
export const HookAuthSchema = hookAuthSchema(schemes)

export const createVerifier = (auth: HookAuth) => create(auth, { schemes, log: createTestContext().log })
export const hookAuthRules = (auth: HookAuth, hookUrl?: string) => checkAuth(auth, { schemes, hookUrl })
export const signRequest = (auth: HookAuth, request: OutgoingRequest, now: number) =>
  sign(auth, request, { schemes, now })
