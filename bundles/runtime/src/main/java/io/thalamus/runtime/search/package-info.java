// SPDX-License-Identifier: Apache-2.0
/** A partition policy that searches for the cheapest cut. */
package io.thalamus.runtime.search;
