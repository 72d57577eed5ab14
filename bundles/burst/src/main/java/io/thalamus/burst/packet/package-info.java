// SPDX-License-Identifier: Apache-2.0
/**
 * The packets of bursts: what a client writes into the queue of requests and a server into the
 * queue of results. Elements of both queues are unions of 24 bytes in the byte order of the
 * machine, laid out as a C++ compiler lays out those of NN HAL 1.2. Padding and unused bytes are
 * zero.
 *
 * <p>FmqRequestDatum: the discriminator is a byte at 0, the union begins at 4.
 *
 * <pre>
 * tag member                      at 4            at 8         at 12         at 16         at 20
 *  0  packetInformation           packetSize u32  inputs u32   outputs u32   pools u32
 *  1  inputOperandInformation     hasNoValue u8   pool u32     offset u32    length u32    dimensions u32
 *  2  inputOperandDimensionValue  value u32
 *  3  outputOperandInformation    as tag 1
 *  4  outputOperandDimensionValue value u32
 *  5  poolIdentifier              slot i32
 *  6  measureTiming               0 or 1 i32
 *  7  deadline (version 2)        clock u32       nanoseconds i64
 *  8  loopTimeout (version 2)     0               nanoseconds i64
 *  9  bufferToken (version 2)     token i32
 * </pre>
 *
 * <p>FmqResultDatum: the discriminator is a byte at 0, the union begins at 8.
 *
 * <pre>
 * tag member                      at 8             at 12            at 16
 *  0  packetInformation           packetSize u32   errorStatus i32  operands u32
 *  1  operandInformation          isSufficient u8  dimensions u32
 *  2  operandDimensionValue       value u32
 *  3  executionTiming             onDevice u64                      inDriver u64   in microseconds
 *  4  preciseTiming (version 2)   onDevice u64                      inDriver u64   in nanoseconds
 *  5  copiedBytes (version 2)     in i64                            out i64
 *  6  message (version 2)         16 bytes of UTF-8, the last of them filled with zeros
 * </pre>
 *
 * <p>A request is packetInformation, each input and each output followed by its dimensions, a
 * poolIdentifier for each pool, measureTiming; in version 2 a bufferToken stands where the pool is
 * the buffer of a device, and a deadline and a loopTimeout may follow in this order. A result is
 * packetInformation, each output followed by its dimensions, executionTiming; in version 2
 * preciseTiming, copiedBytes and messages may follow in this order. packetSize counts all elements.
 * A packet that differs in anything is malformed.
 */
@Export
@Version("1.0.0")
package io.thalamus.burst.packet;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
