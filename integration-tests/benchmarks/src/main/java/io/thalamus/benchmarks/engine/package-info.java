// SPDX-License-Identifier: Apache-2.0
/** What runs models: ours, and whatever peers are on the class path. */
package io.thalamus.benchmarks.engine;
