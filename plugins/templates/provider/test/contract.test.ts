// Runs the suite of providers: replies, tool calls, counted tokens, aborted calls and an unknown model.
import { providerContract } from 'svc-gateway/testing'
import provider from '../src/index.ts'
import { openModelServer } from './model-server.ts'

providerContract(provider, openModelServer, { unknownModelId: 'huge' })
