// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

/**
 * The parts of the time of a request, in nanoseconds; those of Triton's statistics.
 *
 * @param total from the arrival to the completion
 * @param queue from the arrival to the start of the execution, and waits for devices
 * @param computeInput checks and copies of inputs
 * @param computeInfer the execution without its waits
 * @param computeOutput shapes and copies of outputs
 */
public record RequestTimes(
    long total, long queue, long computeInput, long computeInfer, long computeOutput) {}
