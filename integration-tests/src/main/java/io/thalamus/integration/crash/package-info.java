// SPDX-License-Identifier: Apache-2.0
/**
 * A device that makes its process crash, which {@code CrashBundle} puts into a bundle of its own.
 */
package io.thalamus.integration.crash;
