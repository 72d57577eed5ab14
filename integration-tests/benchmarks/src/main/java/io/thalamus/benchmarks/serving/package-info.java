// SPDX-License-Identifier: Apache-2.0
/** The cost of what a server does beside the execution of a model. */
package io.thalamus.benchmarks.serving;
