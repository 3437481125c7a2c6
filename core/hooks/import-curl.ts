// Makes a request and a mapping of the curl command with which a service shows its webhook. Nothing is stored or sent.
import { findScheme, type Schemes } from '../config/schemes.ts'
import { GatewayError } from '../errors.ts'
import { type CurlProposal, proposeMapping } from '../kit/curl/propose.ts'
import { nameOfCurl, readCurl } from '../kit/curl/read-curl.ts'
import { InputError, isInputError } from '../plugin/errors.ts'

export type ImportCurl = (command: string) => Promise<Omit<CurlProposal, 'message'>>

export function createCurlImport(schemes: Schemes): ImportCurl {
  return async (command) => {
    try {
      const request = readCurl(command, refuseFile)
      const { message: _message, ...proposal } = await proposeMapping(request, {
        name: nameOfCurl(request),
        findScheme: (headers) => findScheme(headers, schemes),
      })
      return proposal
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
