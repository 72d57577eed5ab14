// SPDX-License-Identifier: Apache-2.0
/** The engines that run models: ours, and whatever peers are on the class path. */
package io.thalamus.benchmarks.engine;
