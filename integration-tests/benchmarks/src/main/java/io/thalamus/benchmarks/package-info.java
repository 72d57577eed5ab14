// SPDX-License-Identifier: Apache-2.0
/** Thalamus beside its peers: the same networks, run by run in turn, in processes of their own. */
package io.thalamus.benchmarks;
