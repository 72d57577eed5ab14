// SPDX-License-Identifier: Apache-2.0
/** The one way to call a driver: threads, limits, abandonment, departure, and what it throws. */
package io.thalamus.runtime.call;
