// Makes a request and a mapping of the curl command with which a service shows its webhook. Nothing is stored or sent.
import { findScheme, type Schemes } from '../config/schemes.ts'
import { GatewayError } from '../errors.ts'
import { type CurlProposal, proposeMapping } from '../kit/curl/propose.ts'
import { nameOfCurl, readCurl } from '../kit/curl/read-curl.ts'
import { InputError, isInputError } from '../plugin/errors.ts'

export interface CurlImport {
  mapping: CurlProposal['mapping']
  payload: unknown
  headers: Readonly<Record<string, string>>
  notes: readonly string[]
}

export type ImportCurl = (command: string) => Promise<CurlImport>

export function createCurlImport(schemes: Schemes): ImportCurl {
  return async (command) => {
    try {
      const request = readCurl(command, refuseFile)
      const options = {
        name: nameOfCurl(request),
        findScheme: (headers: CurlImport['headers']) => findScheme(headers, schemes),
      }
      const { mapping, payload, headers, notes } = await proposeMapping(request, options)
      return { mapping, payload, headers, notes }
    } catch (error) {
      if (isInputError(error)) throw new GatewayError('invalid_request', error.message, { cause: error })
      throw error
    }
  }
}

/** The command comes from elsewhere, so it reads no file of this machine. */
function refuseFile(path: string): never {
  throw new InputError(`The command reads the file "${path}"; write its text into the command.`)
}
