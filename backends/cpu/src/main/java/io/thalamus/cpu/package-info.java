// SPDX-License-Identifier: Apache-2.0
/** The reference device. */
package io.thalamus.cpu;
