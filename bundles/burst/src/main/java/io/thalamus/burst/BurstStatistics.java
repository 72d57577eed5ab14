// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

/**
 * The work of a burst's server until now. Immutable.
 *
 * @param packets that it read, malformed ones included
 * @param executions that it began
 * @param slots whose memory it asked for
 */
public record BurstStatistics(long packets, long executions, long slots) {}
