// SPDX-License-Identifier: Apache-2.0
/** The model files of a folder, each run here and by the engine that its format comes from. */
package io.thalamus.benchmarks.zoo;
