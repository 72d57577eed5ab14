// SPDX-License-Identifier: Apache-2.0
/**
 * How long the simulated accelerator takes, and what it draws: closed equations over sizes, with
 * their sources. Knows nothing of models, commands or devices.
 */
package io.thalamus.npu.timing;
