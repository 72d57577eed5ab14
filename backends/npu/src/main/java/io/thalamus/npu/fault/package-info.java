// SPDX-License-Identifier: Apache-2.0
/**
 * How the device is hurt, by script and by seed: late, hanging, crashing, wrong, exhausted and lost
 * executions, injected where {@code Device} and {@code PreparedModel} are called. Knows nothing of
 * the device within.
 */
package io.thalamus.npu.fault;
