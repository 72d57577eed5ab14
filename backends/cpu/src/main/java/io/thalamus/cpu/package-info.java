// SPDX-License-Identifier: Apache-2.0
/**
 * The reference device: every operation plain and exact. It is the oracle for other devices and the
 * fallback of every plan, so its kernels are written to be read and are never tuned. One file for
 * each family, named as in {@code io.thalamus.operations}.
 */
package io.thalamus.cpu;
