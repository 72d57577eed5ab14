// SPDX-License-Identifier: Apache-2.0
/**
 * Fuzzing of the readers of models: {@link io.thalamus.fuzz.Main} makes seeds and starts Jazzer for
 * each reader in a process of its own.
 */
package io.thalamus.fuzz;
