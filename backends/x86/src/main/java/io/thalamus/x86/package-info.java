// SPDX-License-Identifier: Apache-2.0
/**
 * The device {@code x86}: compiles float networks to machine code of x86-64 on Linux, and calls it
 * through the JDK's foreign-function interface.
 */
package io.thalamus.x86;
