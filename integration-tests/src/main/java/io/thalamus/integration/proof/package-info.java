// SPDX-License-Identifier: Apache-2.0
/** Long proofs that run in a framework; {@code integration-tests/run} starts one with them. */
package io.thalamus.integration.proof;
