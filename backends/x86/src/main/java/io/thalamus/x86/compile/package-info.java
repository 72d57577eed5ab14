// SPDX-License-Identifier: Apache-2.0
/** From a graph to a program: functions, constants, and calls whose accesses are in bounds. */
package io.thalamus.x86.compile;
