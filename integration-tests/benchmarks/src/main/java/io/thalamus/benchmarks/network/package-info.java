// SPDX-License-Identifier: Apache-2.0
/** Networks of the literature with random weights, and the files they are written as. */
package io.thalamus.benchmarks.network;
