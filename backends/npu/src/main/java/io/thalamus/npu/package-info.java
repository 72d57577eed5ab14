// SPDX-License-Identifier: Apache-2.0
/**
 * A simulated accelerator for 8-bit and float16 networks: a systolic array with a scratchpad and a
 * memory of its own. Preparing compiles a model into a stream of commands; the device executes that
 * stream and nothing else, and says how long the hardware would have taken.
 */
package io.thalamus.npu;
