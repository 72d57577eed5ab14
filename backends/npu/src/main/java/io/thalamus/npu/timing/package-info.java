// SPDX-License-Identifier: Apache-2.0
/**
 * Time and power of the simulated accelerator: closed equations over sizes, with their sources.
 * Knows nothing of models, commands or devices.
 */
package io.thalamus.npu.timing;
