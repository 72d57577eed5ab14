// SPDX-License-Identifier: Apache-2.0
/**
 * The parts of {@code io.thalamus.embedded} that a loader defines beside the framework's classes; a
 * package of their own, since classes of one package share generated ones.
 */
package io.thalamus.embedded.framework;
