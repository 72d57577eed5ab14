// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.measurement;

/**
 * The time of a step as it was measured, with its spread. Immutable.
 *
 * @param usualNanos the time that a quarter of the executions did not exceed
 * @param leastNanos a lower bound, see {@link StepTimes#least}
 */
public record StepTime(double usualNanos, double leastNanos) {}
