// Runs the suite of channels: delivery, limits, losses of the connection, crashes and leaks.
import { channelContract } from 'svc-gateway/testing'
import channel from '../src/index.ts'
import { openChatServer } from './chat-server.ts'

channelContract(channel, openChatServer)
