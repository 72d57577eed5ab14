// SPDX-License-Identifier: Apache-2.0
/**
 * The device itself: memories, the engines that work on them, the interpreter that checks and
 * executes commands, and the timeline that says when each would have run on hardware.
 */
package io.thalamus.npu.machine;
